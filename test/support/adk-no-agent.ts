import { agent } from 'troupe';

export default agent({ name: 'legacy', executor: 'adk', backend: { agent: { name: 'no agent of ADK' } } });
