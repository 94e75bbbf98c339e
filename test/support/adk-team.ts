import { LlmAgent, LoopAgent, ParallelAgent, SequentialAgent } from '@google/adk';
import { agent, sequential } from 'troupe';

const one = (name: string) => new LlmAgent({ name, description: `The ${name}.`, model: 'gemini-flash-latest' });
const report = new SequentialAgent({
  name: 'old_report',
  subAgents: [
    new ParallelAgent({ name: 'look', subAgents: [one('inventory'), one('structure')] }),
    new LoopAgent({ name: 'polish', subAgents: [one('writer'), one('critic')], maxIterations: 3 }),
  ],
});

export default sequential({
  name: 'both',
  children: [agent({ name: 'report', executor: 'adk', backend: { agent: report } }), agent({ name: 'reader' })],
});
