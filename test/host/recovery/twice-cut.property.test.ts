import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../src/contracts/index.js';
import { agent, hierarchical, loop, parallel, tool } from '../../../src/index.js';
import { seededRandom, validateLog } from '../../../src/testing/index.js';
import { answersIn, type BrokenTeam, goOn, recordRun } from '../../support/broken-log.js';

const once =
  (line: string, name: string) =>
  (request: ModelRequest): object =>
    answersIn(request).length === 0 ? { text: 'one moment', toolCalls: [{ name, args: {} }] } : { text: line };

const broken: BrokenTeam = {
  team: (ran) => {
    const changing = tool({
      name: 'pay',
      description: '.',
      parameters: { type: 'object' },
      execute: (_, { requestId }) => {
        ran.push(requestId);
        return 'pay done';
      },
    });
    const looking = tool({
      name: 'look',
      description: '.',
      parameters: { type: 'object' },
      annotations: { readOnly: true },
      execute: (_, { state }) => {
        state.set('sum', 1);
        return 'look done';
      },
    });
    return loop({
      name: 'l',
      maxIterations: 2,
      state: { sum: { initial: 0, reducer: 'sum' } },
      children: [
        parallel({
          name: 'p',
          children: [
            hierarchical({
              name: 'h',
              agent: agent({ name: 'boss' }),
              children: [agent({ name: 'a', tools: [changing] })],
            }),
            agent({ name: 'b', tools: [looking] }),
          ],
        }),
        agent({ name: 'c', instruction: 'sum {state.sum}' }),
      ],
    });
  },
  byAgent: {
    boss: (request) =>
      answersIn(request).length === 0
        ? { toolCalls: [{ name: 'a', args: { prompt: 'p' } }] }
        : { text: answersIn(request).join() },
    a: once('A', 'pay'),
    b: once('B', 'look'),
    c: (request) => ({ text: `${request.systemInstruction}` }),
  },
};

/** Once and again a process ends, each time somewhere else: the log of one is the past of the next. */
test('however often a run breaks off, it comes to the same, and what changes something happens as often as it should', async () => {
  const whole = await recordRun(broken);
  for (let seed = 1; seed <= 40; seed++) {
    const random = seededRandom(seed);
    const ran: string[] = [];
    let part = whole.log.slice(0, 2 + Math.floor(random() * (whole.log.length - 2)));
    let last = whole;
    const started = (log: typeof part) =>
      log.flatMap((event) =>
        event.type === 'custom' && event.kind === 'tool_started'
          ? [(event.data as { requestId: string }).requestId]
          : [],
      );
    for (const requestId of started(part)) if (whole.ran.includes(requestId)) ran.push(requestId);
    for (let times = 0; times < 3; times++) {
      const again = await goOn(broken, part, whole.agentName);
      expect(validateLog(again.log, { finished: true }), `seed ${seed}`).toEqual([]);
      expect(again.result.result, `seed ${seed}`).toEqual(whole.result.result);
      last = { ...again, agentName: whole.agentName };
      // What ran behind the next end of the process has not run for the one after it.
      const cut = part.length + Math.floor(random() * (again.log.length - part.length + 1));
      part = again.log.slice(0, times === 2 ? again.log.length : cut);
      for (const requestId of again.ran) if (started(part).includes(requestId)) ran.push(requestId);
    }
    expect(new Set(ran).size, `seed ${seed}: run twice`).toBe(ran.length);
    expect(ran.length, `seed ${seed}`).toBe(whole.ran.length);
    expect(last.result.reason).toBe('completed');
  }
});
