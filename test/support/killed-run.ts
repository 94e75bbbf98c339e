import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentEvent, ModelRequest } from '../../src/contracts/index.js';
import { agent, createHost, parallel, sequential, tool } from '../../src/index.js';
import { fileStore } from '../../src/stores/file.js';
import { scriptedModel } from '../../src/testing/index.js';

/** Where a run leaves what its consumer was given, and what its tool has really done. */
export const givenIn = (dir: string): AgentEvent[] => linesOf(join(dir, 'given')).map((line) => JSON.parse(line));
export const paidIn = (dir: string): string[] => linesOf(join(dir, 'paid'));

const linesOf = (path: string) =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : [];

/** Two at once, one of which pays, and one behind them. `kill` is told before and after the payment. */
export function payingTeam(dir: string, kill: (point: string) => void = () => {}) {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object' },
    async execute(_, { requestId }) {
      kill('before the payment');
      appendFileSync(join(dir, 'paid'), `${requestId}\n`);
      kill('after the payment');
      return 'paid';
    },
  });
  const look = tool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_, { state }) => {
      state.set('seen', 1);
      return 'seen';
    },
  });
  return sequential({
    name: 'team',
    state: { seen: { initial: 0, reducer: 'sum' } },
    children: [
      parallel({
        name: 'both',
        children: [agent({ name: 'payer', tools: [pay] }), agent({ name: 'seer', tools: [look] })],
      }),
      agent({ name: 'writer', instruction: 'seen {state.seen}' }),
    ],
  });
}

const calls =
  (name: string, line: string) =>
  ({ messages }: ModelRequest) =>
    messages.at(-1)?.content[0]?.type === 'function_response'
      ? { text: line }
      : { text: 'a moment', toolCalls: [{ name, args: {} }] };

export const payingModel = () =>
  scriptedModel({
    byAgent: {
      payer: calls('pay', 'paid it'),
      seer: calls('look', 'saw it'),
      writer: ({ systemInstruction, messages }: ModelRequest) => ({
        text: `${systemInstruction}: ${JSON.stringify(messages[0]?.content)}`,
      }),
    },
  } as never);

/** A program of its own: runs the team, and ends itself the hard way once it has been given what `point` names. */
async function main(dir: string, point: string): Promise<void> {
  const kill = (reached: string) => {
    if (reached === point) process.kill(process.pid, 'SIGKILL');
  };
  const host = createHost({ models: { scripted: payingModel() }, store: fileStore({ dir: join(dir, 'store') }) });
  const run = host.run(payingTeam(dir, kill), 'go', { sessionId: 'killed' });
  const counts = new Map<string, number>();
  for await (const event of run) {
    appendFileSync(join(dir, 'given'), `${JSON.stringify(event)}\n`);
    const count = (counts.get(event.type) ?? 0) + 1;
    counts.set(event.type, count);
    kill(`${event.type} ${count}`);
    if (event.type === 'elicitation_request') run.respond(event.requestId, { action: 'accept' });
  }
  await run.result;
  kill('the result');
}

const [program, dir, point] = process.argv.slice(1);
if (program === fileURLToPath(import.meta.url) && dir !== undefined && point !== undefined) await main(dir, point);
