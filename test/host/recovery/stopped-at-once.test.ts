import { expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent, ModelRequest } from '../../../src/contracts/index.js';
import {
  agent,
  createHost,
  graph,
  hierarchical,
  loop,
  parallel,
  sequential,
  tool,
  transfer,
} from '../../../src/index.js';
import { scriptedModel, validateLog, virtualClock } from '../../../src/testing/index.js';
import { answersIn, type BrokenTeam, recordRun, storeWith } from '../../support/broken-log.js';
import { logOf } from '../../support/team.js';

const look = () =>
  tool({
    name: 'look',
    description: 'looks',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => 'seen',
  });

const worker = (name: string): AgentDefinition => agent({ name, description: name, tools: [look()] });

const works = (request: ModelRequest) =>
  answersIn(request).length === 0 ? { toolCalls: [{ name: 'look', args: {} }] } : { text: 'done' };
const workers = { a: works, b: works, c: works };

const asking = (name: string): AgentDefinition =>
  graph({
    name,
    nodes: { a: worker('a'), b: worker('b'), c: worker('c') },
    start: 'a',
    end: 'c',
    edges: [
      { from: 'a', to: 'b', guard: () => true },
      { from: 'b', to: 'c', guard: async () => true },
    ],
  });

/** What fails ends all, `turns` turns after they have begun. */
const besideFailing = (turns: number): BrokenTeam => ({
  team: () => parallel({ name: 'p', failure: 'fail_fast', children: [asking('g'), worker('d')] }),
  byAgent: {
    ...workers,
    d: (request) =>
      answersIn(request).length < turns
        ? { toolCalls: [{ name: 'look', args: {} }] }
        : { error: { code: 'BOOM', message: 'boom', retryable: false } },
  },
});

const teams: Record<string, BrokenTeam> = {
  'a graph whose edges ask': { team: () => asking('g'), byAgent: workers },
  'a graph in a parallel': {
    team: () => parallel({ name: 'p', children: [asking('g'), worker('d')] }),
    byAgent: { ...workers, d: works },
  },
  'a graph beside one that fails later': besideFailing(5),
  'a graph beside one that fails': besideFailing(3),
  'a loop that asks whether to go on': {
    team: () =>
      loop({
        name: 'l',
        maxIterations: 3,
        until: async ({ iteration }) => iteration === 2,
        children: [worker('a'), worker('b')],
      }),
    byAgent: workers,
  },
  'a sequence that makes inputs': {
    team: () =>
      sequential({
        name: 's',
        mapInput: async (_, { input }) => `${String(input)}!`,
        children: [worker('a'), parallel({ name: 'p', concurrency: 1, children: [worker('b'), worker('c')] })],
      }),
    byAgent: workers,
  },
  'a parallel that starts again what fails': {
    team: () =>
      parallel({
        name: 'p',
        children: [worker('a'), worker('b')],
        supervise: { strategy: 'one_for_all', children: { a: { restart: 'on_failure', maxRestarts: 1 } } },
      }),
    byAgent: { ...workers, a: () => ({ error: { code: 'BOOM', message: 'boom', retryable: false } }) },
  },
  'a leader': {
    team: () => hierarchical({ name: 'h', agent: agent({ name: 'boss' }), children: [worker('d'), asking('g')] }),
    byAgent: {
      ...workers,
      d: works,
      boss: (request) =>
        answersIn(request).length === 0
          ? { toolCalls: ['d', 'g'].map((name) => ({ name, args: { prompt: 'go' } })) }
          : { text: 'done' },
    },
  },
  'a team that hands over': {
    team: () => transfer({ name: 't', start: 'a', targets: { a: ['b'] }, members: [worker('a'), worker('b')] }),
    byAgent: {
      a: (request) =>
        answersIn(request).length === 0
          ? { toolCalls: [{ name: 'transfer_to_agent', args: { target: 'b' } }] }
          : { text: 'done' },
      b: works,
    },
  },
};

test.each(Object.keys(teams))(
  '%s that is stopped as soon as it is taken up ends all that had begun, from every cut',
  async (name) => {
    const broken = teams[name] as BrokenTeam;
    const { log, agentName } = await recordRun(broken);
    expect(validateLog(log, { finished: true })).toEqual([]);
    const first = log.findIndex(({ type }) => type === 'message') + 1;
    for (let cut = first; cut < log.length; cut++) {
      const part = log.slice(0, cut);
      for (const when of ['not', 'at once', 'once it has begun'] as const) {
        const after = await expectStopped(broken, part, { agentName, when });
        const stop = after.findIndex(({ type, source }) => type === 'custom' && source === 'user');
        if (stop < 0 || when !== 'at once') continue;
        // It is killed once more, on its way to that end.
        for (let last = stop + 1; last < after.length; last++) {
          await expectStopped(broken, after.slice(0, last), { agentName, when: 'not' });
        }
      }
    }
  },
);

test('an agent whose start was told and that was stopped before it had its input is told to have ended', async () => {
  const broken: BrokenTeam = {
    team: () => sequential({ name: 's', children: [worker('a'), worker('b')] }),
    byAgent: workers,
  };
  const { log, agentName } = await recordRun(broken);
  const started = log.findIndex((event) => event.type === 'agent_started' && event.agentName === 'b');
  const { seq, timestamp } = log[started] as AgentEvent;
  const part = [...log.slice(0, started + 1), { ...STOPPED, seq: seq + 1, timestamp } as AgentEvent];
  const { after, reason } = await stopAfter(broken, part, { agentName, when: 'not' });
  expect(reason).toBe('aborted');
  expect(validateLog(after, { finished: true })).toEqual([]);
  expect(after.flatMap((event) => (event.type === 'agent_completed' ? [event.reason] : []))).toEqual([
    'completed',
    'aborted',
  ]);
});

/** As `run.abort()` leaves it in the log. */
const STOPPED = {
  id: 'stop',
  type: 'custom',
  kind: 'stop',
  source: 'user',
  data: { reason: 'aborted', data: { by: 'user' } },
};

type When = 'not' | 'at once' | 'once it has begun';
type How = { agentName: string; when: When };

/** Returns the log behind it. */
async function expectStopped(broken: BrokenTeam, part: readonly AgentEvent[], how: How): Promise<AgentEvent[]> {
  const at = `${how.when}, behind event ${part.length}: ${part.at(-1)?.threadId} ${part.at(-1)?.type}`;
  const { after, reason } = await stopAfter(broken, part, how);
  expect(validateLog(after, { finished: true }), at).toEqual([]);
  if (hasLive(part) && how.when !== 'not') {
    expect(part.some(hasFailed) ? ['aborted', 'failed'] : ['aborted'], at).toContain(reason);
  }
  return after;
}

const hasFailed = (event: AgentEvent): boolean => event.type === 'agent_completed' && event.reason === 'failed';

/** Whether one that works has begun and not ended. */
const hasLive = (events: readonly AgentEvent[]): boolean => {
  const ofWorkers = events.filter(({ threadId }) => /(^|\.)[a-d]_\d+$/.test(threadId ?? ''));
  const countOf = (type: string) => ofWorkers.filter((event) => event.type === type).length;
  return countOf('agent_started') > countOf('stream_end');
};

async function stopAfter(broken: BrokenTeam, part: readonly AgentEvent[], { agentName, when }: How) {
  const store = await storeWith(part, { id: 's', agentName });
  const models = { scripted: scriptedModel({ byAgent: broken.byAgent } as never) };
  await using host = createHost({ models, store, clock: virtualClock() });
  const run = await host.resume('s', { agent: broken.team([]) });
  if (when === 'at once') run.abort('enough');
  const reader = run[Symbol.asyncIterator]();
  const next = reader.next();
  if (when === 'once it has begun') run.abort('enough');
  for (let step = await next; step.done !== true; step = await reader.next());
  const { reason } = await run.result;
  return { after: await logOf(store, 's'), reason };
}
