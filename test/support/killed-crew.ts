import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BaseLlm, type BaseLlmConnection, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import type { AgentResponse, AgentSession, ModelRequest } from '../../src/contracts/index.js';
import { agent, createHost, type Host, parallel, tool } from '../../src/index.js';
import { fileStore } from '../../src/stores/file.js';
import { scriptedModel } from '../../src/testing/index.js';

/** What a team of four kinds has really done, one line each. */
export const WROTE = 'wrote';

/** A model of ADK that writes once, told by what it is sent: as models do. */
class WritingLlm extends BaseLlm {
  constructor() {
    super({ model: 'writing' });
  }
  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const isDone = contents.some(({ parts }) => parts?.some((part) => part.functionResponse));
    const parts = isDone
      ? [{ text: 'adk is done' }]
      : [{ functionCall: { id: 'adk-call', name: 'write', args: { by: 'google' } } }];
    yield { content: { role: 'model', parts }, turnComplete: true };
  }
  override connect(): Promise<BaseLlmConnection> {
    return Promise.reject(new Error('no live connection'));
  }
}

/** Another's session, that has its say at once. */
function guest(): AgentSession {
  async function* answer() {
    yield { type: 'message', messageId: 'n', role: 'agent', content: [{ type: 'text', text: 'guest is done' }] };
    yield { type: 'stream_end', reason: 'completed' };
  }
  return {
    stream() {
      const stream = answer() as unknown as AgentResponse['stream'];
      return { stream, controller: { abort: () => void stream.return(undefined as never) } };
    },
    update() {},
    steer() {},
    abort() {},
  };
}

const byAgent = {
  local: ({ messages }: ModelRequest) =>
    messages.at(-1)?.content[0]?.type === 'function_response'
      ? { text: 'local is done' }
      : { toolCalls: [{ id: 'local-call', name: 'write', args: { by: 'local' } }] },
};

/** A local, an ADK, a remote and a foreign agent side by side: the first two want to write, the third asks something. */
export function openCrew(dir: string, cardUrl: string): { host: Host; team: ReturnType<typeof parallel> } {
  const write = tool({
    name: 'write',
    description: 'Writes.',
    parameters: { type: 'object' },
    execute(args) {
      const { by } = args as { by: string };
      appendFileSync(join(dir, WROTE), `${by}\n`);
      return 'written';
    },
  });
  const google = new LlmAgent({ name: 'google', model: new WritingLlm() });
  const team = parallel({
    name: 'crew',
    children: [
      agent({ name: 'local', tools: [write] }),
      agent({ name: 'google', executor: 'adk', backend: { agent: google }, tools: [write] }),
      agent({ name: 'far', executor: 'remote', backend: { cardUrl } }),
      agent({ name: 'guest', executor: 'theirs', capabilities: ['host_tool_execution'] }),
    ],
  });
  const host = createHost({
    models: { scripted: scriptedModel({ byAgent } as never) },
    store: fileStore({ dir: join(dir, 'store') }),
    policy: [{ rules: [{ toolName: 'far', decision: 'allow', context: { opaque: true } }] }],
  });
  host.registerExecutor('theirs', guest);
  return { host, team: team as never };
}

/** A program of its own: ends itself the hard way at `point`, with the guest gone and questions open or answered. */
async function main(dir: string, cardUrl: string, point: string): Promise<void> {
  const { host, team } = openCrew(dir, cardUrl);
  const run = host.run(team, 'go', { sessionId: 'killed' });
  const asked = new Map<string, string>();
  let isGuestGone = false;
  const die = () => process.kill(process.pid, 'SIGKILL');
  for await (const event of run) {
    if (event.type === 'elicitation_request') asked.set(event.agentId ?? '', event.requestId);
    if (event.type === 'agent_completed' && event.agentName === 'guest') isGuestGone = true;
    if (event.type === 'tool_response' && point === 'one has written') die();
    if (event.type === 'agent_completed' && event.agentName === 'google' && point === 'one has ended') die();
    if (asked.size < 3 || !isGuestGone) continue;
    if (point === 'all are asked') die();
    const google = asked.get('google');
    if (google === undefined) continue;
    asked.set('google', '');
    if (google !== '') run.respond(google, { action: 'accept' });
  }
}

const [program, dir, cardUrl, point] = process.argv.slice(1);
if (program === fileURLToPath(import.meta.url) && dir && cardUrl && point) await main(dir, cardUrl, point);
