import { seededRandom } from '../../src/testing/index.js';

/** What an agent does in one step of its turn; beyond its steps it answers in words. */
export type Step =
  | { does: 'call'; tools: ToolName[] }
  | { does: 'broken' }
  | { does: 'refuse' }
  | { does: 'fail' }
  | { does: 'exit' };

export type ToolName = 'look' | 'pay' | 'put' | 'ask' | 'add' | 'wait' | 'nothing';

/** A team as a tree. Names come from the path, so that they differ. */
export type Shape =
  | { kind: 'leaf'; steps: Step[] }
  | { kind: 'sequential'; goesOn: boolean; restarts: number; children: Shape[] }
  | { kind: 'parallel'; mode: 'settle' | 'fail_fast' | 'any'; concurrency: number; restarts: number; children: Shape[] }
  | { kind: 'loop'; rounds: number; restarts: number; children: Shape[] }
  | { kind: 'hierarchical'; children: Shape[] }
  | { kind: 'transfer'; hands: boolean; children: Shape[] }
  | { kind: 'graph'; way: 'all' | 'any' | 'round'; children: Shape[] };

export interface Act {
  atMs: number;
  does:
    | 'steer'
    | 'steer_all'
    | 'interrupt'
    | 'pause'
    | 'update'
    | 'abort'
    | 'abort_thread'
    | 'abort_call'
    | 'close'
    | 'fork'
    | 'rewind';
}

/** A hook that does so, by chance, wherever it is asked. */
export interface HookPlan {
  point: 'before_tool' | 'after_tool' | 'before_model' | 'after_model' | 'on_user_message' | 'on_event' | 'after_agent';
  does: 'throw' | 'block' | 'change' | 'wait';
  chance: number;
}

/** All that a seed decides before anything runs. What is drawn while it runs follows from the seed too. */
export interface Plan {
  team: Shape;
  /** Where the log is kept: in memory, or in files of a disk that is simulated as well. */
  store: 'memory' | 'files';
  /** In memory: appends resolve so many ms later (drawn up to it); undefined: they are done at once. */
  storeMs: number | undefined;
  /** The append (1-based, over all processes) from which on the store fails, until the next process. */
  storeFails: number | undefined;
  /** With each process that is killed the power goes: what no sync made durable is lost. */
  losesPower: boolean;
  /** The append (of files: the operation) of each process at which it is killed; beyond the list it lives. */
  crashes: number[];
  /** Chances of a fault per model call and per tool call. */
  modelFaults: number;
  toolFaults: number;
  permissionMode: 'default' | 'autonomous';
  /** The consumer waits up to so many ms between two events. */
  readMs: number;
  streaming: boolean;
  concurrency: number | undefined;
  acts: Act[];
  /** The process dies right behind the first act. */
  diesBehindAct: boolean;
  hooks: HookPlan[];
  budgetUsd: number | undefined;
  budgetTokens: number | undefined;
  /** Another model stands in for one that fails. */
  fallback: 'silent' | 'ask' | undefined;
  contextTokens: number | undefined;
}

export type Pick = ReturnType<typeof picker>;

/** Draws from a seed. */
export function picker(seed: number) {
  const random = seededRandom(seed);
  const upTo = (most: number) => Math.floor(random() * (most + 1));
  return {
    random,
    /** A whole number from `least` to `most`. */
    int: (least: number, most: number) => least + upTo(most - least),
    chance: (of: number) => random() < of,
    of: <T>(list: readonly T[]): T => list[upTo(list.length - 1)] as T,
  };
}

export function planOf(seed: number): Plan {
  const pick = picker(seed);
  const isFaulty = pick.chance(0.6);
  const store = pick.chance(0.3) ? 'files' : 'memory';
  return {
    team: shape(pick, pick.int(0, 3)),
    store,
    losesPower: pick.chance(0.3),
    storeMs: pick.chance(0.5) ? pick.int(0, 20) : undefined,
    storeFails: pick.chance(0.12) ? pick.int(1, 40) : undefined,
    crashes: pick.chance(0.5)
      ? Array.from({ length: pick.int(1, 3) }, () => pick.int(1, store === 'files' ? 200 : 40))
      : [],
    modelFaults: isFaulty ? pick.random() * 0.3 : 0,
    toolFaults: isFaulty ? pick.random() * 0.5 : 0,
    permissionMode: pick.chance(0.6) ? 'default' : 'autonomous',
    readMs: pick.chance(0.2) ? pick.int(1, 30) : 0,
    streaming: pick.chance(0.7),
    concurrency: pick.chance(0.2) ? pick.int(1, 3) : undefined,
    acts: pick.chance(0.5) ? Array.from({ length: pick.int(1, 3) }, () => act(pick)) : [],
    diesBehindAct: pick.chance(0.3),
    hooks: pick.chance(0.3) ? Array.from({ length: pick.int(1, 3) }, () => hook(pick)) : [],
    budgetUsd: pick.chance(0.15) ? pick.int(1, 40) / 1_000 : undefined,
    budgetTokens: pick.chance(0.1) ? pick.int(10, 400) : undefined,
    fallback: pick.chance(0.2) ? pick.of(['silent', 'ask']) : undefined,
    contextTokens: pick.chance(0.1) ? pick.int(30, 200) : undefined,
  };
}

const act = (pick: Pick): Act => ({
  atMs: pick.chance(0.2) ? pick.int(0, 20_000) : pick.int(0, 200),
  does: pick.of(ACTS),
});

const ACTS: readonly Act['does'][] = [
  'steer',
  'steer',
  'steer_all',
  'interrupt',
  'pause',
  'update',
  'abort',
  'abort_thread',
  'abort_call',
  'close',
  'fork',
  'fork',
  'rewind',
  'rewind',
];

const hook = (pick: Pick): HookPlan => ({
  point: pick.of([
    'before_tool',
    'before_tool',
    'after_tool',
    'before_model',
    'after_model',
    'on_user_message',
    'on_event',
    'after_agent',
  ]),
  does: pick.of(['throw', 'block', 'change', 'change', 'wait']),
  chance: pick.random() * 0.5,
});

const TOOLS: readonly ToolName[] = ['look', 'pay', 'pay', 'put', 'ask', 'add', 'wait', 'nothing'];

function step(pick: Pick): Step {
  const does = pick.of(['call', 'call', 'call', 'call', 'call', 'broken', 'refuse', 'fail', 'exit'] as const);
  if (does !== 'call') return { does };
  return { does, tools: Array.from({ length: pick.int(1, 3) }, () => pick.of(TOOLS)) };
}

function shape(pick: Pick, depth: number): Shape {
  if (depth === 0 || pick.chance(0.15)) {
    return { kind: 'leaf', steps: Array.from({ length: pick.int(0, 2) }, () => step(pick)) };
  }
  const children = Array.from({ length: pick.int(1, 3) }, () => shape(pick, depth - 1));
  const restarts = pick.chance(0.2) ? pick.int(1, 2) : 0;
  switch (pick.int(0, 5)) {
    case 0:
      return { kind: 'sequential', goesOn: pick.chance(0.5), restarts, children };
    case 1:
      return {
        kind: 'parallel',
        mode: pick.of(['settle', 'fail_fast', 'any']),
        concurrency: pick.int(1, 3),
        restarts,
        children,
      };
    case 2:
      return { kind: 'loop', rounds: pick.int(1, 2), restarts, children };
    case 3:
      return { kind: 'hierarchical', children };
    case 4:
      return { kind: 'transfer', hands: pick.chance(0.7), children };
    default:
      return { kind: 'graph', way: pick.of(['all', 'any', 'round']), children };
  }
}
