import { describe, expect, test } from 'vitest';
import type { AgentDefinition, CompositionConfig } from '../../src/contracts/index.js';
import { checkDefinition, describeAgent, normalizeAgentName } from '../../src/kernel/definition.js';
import { DEFAULT_INPUT_SCHEMA } from '../../src/kernel/schema.js';

type Parts = Partial<Omit<AgentDefinition, 'descriptor'>> & { descriptor?: object };

/** A definition as data, past all checks of the functions that make them. */
function plain(name: string, parts: Parts = {}): AgentDefinition {
  return {
    kind: 'agent',
    name,
    tools: [],
    ...parts,
    descriptor: { name, description: name, executor: 'local', inputSchema: DEFAULT_INPUT_SCHEMA, ...parts.descriptor },
  };
}

function team(name: string, children: AgentDefinition[], config: Partial<CompositionConfig> = {}, parts: Parts = {}) {
  const composition = { pattern: 'sequential', children: children.map((child) => child.name), ...config };
  return plain(name, { ...parts, children, descriptor: { executor: 'composition', composition, ...parts.descriptor } });
}

const told = (definition: AgentDefinition) =>
  checkDefinition(definition).map(({ path, message }) => `${path}: ${message}`);

const nested = (levels: number): AgentDefinition =>
  levels === 0 ? plain('leaf') : team(`level_${levels}`, [nested(levels - 1)]);

test('a sound tree has no problems', () => {
  const tree = team('report', [
    team('gather', [plain('researcher'), plain('skeptic')], {
      pattern: 'parallel',
      join: { quorum: 2 },
      concurrency: 1,
    }),
    team('polish', [plain('writer')], { pattern: 'loop', maxIterations: 1 }),
    team('desk', [plain('triage'), plain('billing')], {
      pattern: 'transfer',
      start: 'triage',
      transferTargets: { triage: ['billing'] },
      maxTransfers: 0,
      context: { last: 2 },
    }),
    team('lead', [plain('helper')], { pattern: 'hierarchical', leader: 'planner' }, { leader: plain('planner') }),
  ]);
  expect(checkDefinition(tree)).toEqual([]);
});

test('every fault of a tree is told at once, each with its place', () => {
  const tool = { kind: 'tool', name: 'search', descriptor: {}, execute: () => 1 } as never;
  const tree = team('report', [
    team('gather', [plain('researcher', { tools: [tool, tool] }), plain('bad name')], {
      pattern: 'parallel',
      concurrency: 0,
    }),
    team('polish', [], { pattern: 'loop' }),
    plain('writer', { descriptor: { constraints: { maxTurns: -1 } } }),
  ]);
  expect(told(tree)).toEqual([
    'report/gather.concurrency: must be a whole number from 1',
    'report/gather/researcher.tools[1]: a second tool "search" (the first is report/gather/researcher.tools[0]); an agent tells its tools apart by name',
    'report/gather/bad name.name: "bad name" is no agent name: a letter or _, then letters, digits, _ and -',
    'report/polish.children: needs at least one agent',
    'report/polish.maxIterations: is required: a whole number from 1',
    'report/writer.constraints.maxTurns: must be a whole number from 1, not -1',
  ]);
});

describe('names', () => {
  test.each(['a', '_', 'A-b_c9', 'x'.repeat(64)])('"%s" is a name', (name) => {
    expect(told(plain(name))).toEqual([]);
  });

  test.each(['9a', '-a', 'a b', 'a.b', 'ä', 'a/b', ' a', 'a\n'])('%j is none', (name) => {
    expect(told(plain(name))).toEqual([expect.stringContaining('is no agent name')]);
  });

  test('more than 64 characters are too many, none are too few', () => {
    expect(told(plain('x'.repeat(65)))).toEqual([expect.stringContaining('is 65 characters long; at most 64')]);
    expect(told(plain(''))).toEqual(['(unnamed).name: an agent needs a name']);
  });

  test('the descriptor says the same name', () => {
    expect(told(plain('a', { descriptor: { name: 'b' } }))).toEqual(['a.name: the descriptor says "b"']);
  });

  test.each([
    ['Researcher', 'researcher'],
    ['data_loader', 'data-loader'],
    ['data__loader', 'Data_Loader'],
  ])('"%s" and "%s" are one name in a tree, at any depth', (first, second) => {
    expect(told(team('root', [plain(first), team('inner', [plain(second)])]))).toEqual([
      `root/inner/${second}: the name "${second}" is taken by "${first}" at root/${first}; names are unique in a tree, whatever their case and separators`,
    ]);
  });

  test('a composition and a leader count too', () => {
    expect(told(team('a', [plain('A')]))).toHaveLength(1);
    const leading = team('lead', [plain('b')], { pattern: 'hierarchical', leader: 'B' }, { leader: plain('B') });
    expect(told(leading)).toEqual([expect.stringContaining('lead/b: the name "b" is taken by "B" at lead/B')]);
  });

  test('one agent cannot stand in two places', () => {
    const writer = plain('writer');
    expect(told(team('root', [writer, team('inner', [writer])]))).toEqual([
      'root/inner/writer: the agent "writer" also stands at root/writer; names are unique in a tree',
    ]);
  });

  test('a name as a model may say it is compared without space, quotes, case and kind of separator', () => {
    for (const said of [' Data-Loader\n', '"data_loader"', "'Data loader'", '`DATA_LOADER`']) {
      expect(normalizeAgentName(said)).toBe('data_loader');
    }
    expect(normalizeAgentName('dataloader')).not.toBe('data_loader');
  });
});

describe('shape of the tree', () => {
  test('a composition that contains itself is refused, and the check ends', () => {
    const children: AgentDefinition[] = [];
    const inner = team('inner', children);
    const outer = team('outer', [inner]);
    children.push(outer);
    (inner.descriptor.composition as CompositionConfig).children.push('outer');
    expect(told(outer)).toEqual(['outer/inner/outer: contains itself']);
    expect(() => describeAgent(outer)).toThrow('contains itself');
  });

  test('eight levels below the root are allowed, nine are not', () => {
    expect(told(nested(8))).toEqual([]);
    expect(told(nested(9))).toEqual([
      expect.stringMatching(/^level_9\/.*\/leaf: lies deeper than maxDepth allows \(8 levels below the root\)$/),
    ]);
  });

  test('maxDepth of the root allows more or less, maxDepth within only less', () => {
    const leafAt = (maxDepth: number, levels: number) => told(team('root', [nested(levels - 1)], { maxDepth }));
    expect(leafAt(12, 12)).toEqual([]);
    expect(leafAt(2, 2)).toEqual([]);
    expect(leafAt(2, 3)).toHaveLength(1);
    expect(told(team('root', [team('inner', [nested(1)], { maxDepth: 1 })]))).toEqual([
      'root/inner/level_1/leaf: lies deeper than maxDepth allows (2 levels below the root)',
    ]);
    expect(told(team('root', [plain('a')], { maxDepth: 0 }))).toContain('root.maxDepth: must be a whole number from 1');
  });

  test('what is no agent among the children is told by its place', () => {
    const children = [plain('a'), undefined, { name: 'x' }] as AgentDefinition[];
    const definition = team('root', [plain('a')], { children: ['a'] }, {});
    expect(told({ ...definition, children })).toEqual([
      'root.children[1]: is no agent, as agent() or a composition makes it',
      'root.children[2]: is no agent, as agent() or a composition makes it',
      'root.children: are not those that the descriptor names',
    ]);
  });

  test('an executor "composition" without a composition is told', () => {
    expect(told(plain('a', { descriptor: { executor: 'composition' } }))).toEqual([
      expect.stringMatching(
        /^a\.executor: has children or the executor "composition" without being one; sequential\(\)/,
      ),
    ]);
    expect(told({ kind: 'agent', name: 'a', tools: [] } as unknown as AgentDefinition)).toEqual([
      'a: has no descriptor',
    ]);
  });
});

describe('options of compositions', () => {
  const child = () => [plain('a'), plain('b')];
  const bad: [string, Partial<CompositionConfig>, string[]][] = [
    ['onFailure', { onFailure: 'retry' }, ['root.onFailure: must be "stop" or "continue"']],
    ['failure', { pattern: 'parallel', failure: 'stop' }, ['root.failure: must be "settle" or "fail_fast"']],
    ['join', { pattern: 'parallel', join: 'most' }, ['root.join: must be "all", "any" or { quorum }']],
    [
      'a quorum above the children',
      { pattern: 'parallel', join: { quorum: 3 } },
      ['root.join.quorum: must be a whole number from 1 to 2, the number of children, not 3'],
    ],
    [
      'a quorum of none',
      { pattern: 'parallel', join: { quorum: 0 } },
      ['root.join.quorum: must be a whole number from 1 to 2, the number of children, not 0'],
    ],
    ['concurrency', { pattern: 'parallel', concurrency: 1.5 }, ['root.concurrency: must be a whole number from 1']],
    [
      'no iterations',
      { pattern: 'loop', maxIterations: 0 },
      ['root.maxIterations: is required: a whole number from 1'],
    ],
    [
      'endless iterations',
      { pattern: 'loop', maxIterations: Number.POSITIVE_INFINITY },
      ['root.maxIterations: is required: a whole number from 1'],
    ],
    ['start', { pattern: 'transfer', start: 'c' }, ['root.start: "c" is no member; members: a, b']],
    ['no start', { pattern: 'transfer' }, ['root.start: "undefined" is no member; members: a, b']],
    [
      'targets',
      { pattern: 'transfer', start: 'a', transferTargets: { a: ['b', 'c'], d: ['a'], b: 'a' as never } },
      [
        'root.targets.a: "c" is no member; members: a, b',
        'root.targets.d: "d" is no member; members: a, b',
        'root.targets.b: must be a list of names of members',
      ],
    ],
    [
      'maxTransfers',
      { pattern: 'transfer', start: 'a', maxTransfers: -1 },
      ['root.maxTransfers: must be a whole number from 0'],
    ],
    [
      'context',
      { pattern: 'transfer', start: 'a', context: 'some' },
      ['root.context: must be "full", "summary", "none", { last } or a function'],
    ],
    [
      'last',
      { pattern: 'transfer', start: 'a', context: { last: 0 } },
      ['root.context.last: must be a whole number from 1'],
    ],
    ['nobody to lead', { pattern: 'hierarchical' }, ['root.agent: must be the agent that leads']],
    [
      'supervision',
      {
        supervise: {
          strategy: 'all',
          children: { c: {}, a: { restart: 'always', maxRestarts: -1, withinMs: Number.NaN, backoffMs: -5 } },
        },
      },
      [
        'root.supervise.strategy: must be one of one_for_one, one_for_all, rest_for_one',
        'root.supervise.children.c: "c" is no child; children: a, b',
        'root.supervise.children.a.restart: must be "never" or "on_failure"',
        'root.supervise.children.a.maxRestarts: must be a whole number from 0',
        'root.supervise.children.a.withinMs: must be a number of milliseconds from 0',
        'root.supervise.children.a.backoffMs: must be a number of milliseconds from 0',
      ],
    ],
  ];

  test.each(bad)('%s', (_, config, expected) => {
    const problems = told(team('root', child(), config));
    expect(problems).toEqual(expected);
  });

  test('a near miss is guessed', () => {
    const members = [plain('triage'), plain('billing')];
    expect(told(team('desk', members, { pattern: 'transfer', start: 'biling' }))).toEqual([
      'desk.start: "biling" (did you mean "billing"?) is no member; members: triage, billing',
    ]);
  });

  test('a leader is an agent, and its own tools do not have the names of its children', () => {
    const search = { kind: 'tool', name: 'a', descriptor: {}, execute: () => 1 } as never;
    const lead = (leader: AgentDefinition) =>
      told(team('root', child(), { pattern: 'hierarchical', leader: 'boss' }, { leader }));
    expect(lead(plain('boss', { tools: [search] }))).toEqual([
      'root.children: the child "a" has the name of a tool of its leader "boss"',
    ]);
    expect(lead(plain('boss', { tools: ['a'] }))).toEqual([]);
    expect(lead(team('boss', [plain('c')]))).toEqual([
      'root.agent: "boss" is a composition; only an agent can call others as tools',
    ]);
    expect(lead(plain('other'))).toEqual(['root.agent: is not the leader that the descriptor names']);
  });

  test('functions are functions', () => {
    const behaviour = { mapInput: 'x', until: true } as never;
    expect(told(team('root', child(), {}, { behaviour }))).toEqual([
      'root.mapInput: must be a function',
      'root.until: must be a function',
    ]);
  });
});

describe('state', () => {
  const holding = (name: string, state: object, children = [plain(`${name}_child`)]) =>
    team(name, children, {}, { behaviour: { state } as never });

  test('nested declarations of a key must agree', () => {
    const fold = (a: number, b: number) => a + b;
    const agree = { n: { initial: 0, reducer: fold }, list: { initial: ['x'], reducer: 'append' } };
    expect(told(holding('root', agree, [holding('inner', { ...agree })]))).toEqual([]);
    const differ = {
      n: { initial: 0, reducer: (a: number, b: number) => a + b },
      list: { initial: [], reducer: 'append' },
    };
    expect(told(holding('root', agree, [holding('inner', differ)]))).toEqual([
      expect.stringMatching(
        /^root\/inner\.state: state key "n" is declared with another reducer function, in root\.state/,
      ),
      expect.stringMatching(/^root\/inner\.state: state key "list" starts as \[\], in root\.state as \["x"\]/),
    ]);
  });

  test('declarations that cannot work are told', () => {
    const state = {
      when: { initial: new Date(0) },
      n: { initial: 'x', reducer: 'sum' },
      m: { reducer: 'multiply' },
      gone: null,
      '': {},
    };
    expect(told(holding('root', state))).toEqual([
      'root.state.gone: must be { initial, reducer? }',
      'root.state: a state key needs a name',
      expect.stringMatching(/^root\.state: state key "when": initial is an instance of Date/),
      expect.stringMatching(/^root\.state: .*"n"/),
      expect.stringMatching(/^root\.state: .*multiply/),
    ]);
  });

  test('the key __proto__ is none', () => {
    const state = JSON.parse('{"__proto__":{"initial":1}}') as object;
    expect(told(holding('root', state))).toEqual([expect.stringContaining('cannot be named "__proto__"')]);
    expect(told(plain('a', { outputKey: '__proto__' }))).toEqual(['a.outputKey: must be the name of a state key']);
  });

  test('two branches may write one key: that is decided when they run', () => {
    const children = [plain('a', { outputKey: 'k' }), plain('b', { outputKey: 'k' })];
    expect(told(team('root', children, { pattern: 'parallel' }))).toEqual([]);
  });
});

describe('one agent', () => {
  test('constraints are known limits with possible values', () => {
    const constraints = {
      maxTurns: Number.NaN,
      maxLlmCalls: 2.5,
      maxTimeMinutes: -1,
      maxBudgetUsd: Number.POSITIVE_INFINITY,
      graceTurn: 'yes',
      maxTurn: 3,
    };
    const problems = told(plain('a', { descriptor: { constraints } }));
    expect(problems).toEqual([
      'a.constraints.maxTurns: must be a whole number from 1, not NaN',
      'a.constraints.maxLlmCalls: must be a whole number from 1, not 2.5',
      'a.constraints.maxTimeMinutes: must be a number of minutes above 0, not -1',
      'a.constraints.maxBudgetUsd: must be a number from 0, not Infinity',
      'a.constraints.graceTurn: must be true or false, not yes',
      expect.stringContaining(
        'a.constraints.maxTurn: is unknown (did you mean "maxTurns"?); known: maxTurns, maxLlmCalls',
      ),
    ]);
    const good = { maxTurns: 1, maxLlmCalls: 1, maxTimeMinutes: 0.5, maxBudgetUsd: 0, graceTurn: true };
    expect(told(plain('a', { descriptor: { constraints: good } }))).toEqual([]);
  });

  test('an interface that the host cannot serve has a code of its own', () => {
    const [problem, ...more] = checkDefinition(
      team('root', [plain('a', { descriptor: { metadata: { interfaceVersion: '2.0.0' } } })]),
    );
    expect(problem).toMatchObject({ code: 'INCOMPATIBLE_VERSION', path: 'root/a.metadata.interfaceVersion' });
    expect(more).toEqual([]);
    expect(told(plain('a', { descriptor: { metadata: { interfaceVersion: 'one' } } }))).toHaveLength(1);
    expect(told(plain('a', { descriptor: { metadata: { interfaceVersion: '1.0.0' } } }))).toEqual([]);
  });

  test.each<[string, object, string]>([
    ['a function', { metadata: { hook: () => 1 } }, 'a.metadata.hook: must be plain JSON: is a function'],
    ['a date', { metadata: { at: new Date(0) } }, 'a.metadata.at: must be plain JSON: is an instance of Date'],
    ['not a number', { metadata: { n: { m: Number.NaN } } }, 'a.metadata.n: must be plain JSON: .m is NaN'],
    [
      'undefined in a list',
      { capabilities: ['streaming', undefined] },
      'a.capabilities: must be plain JSON: [1] is undefined',
    ],
    ['a map', { metadata: new Map() }, 'a.metadata: must be plain JSON: is an instance of Map'],
    [
      'a toJSON function',
      { metadata: { x: { toJSON: () => 1 } } },
      'a.metadata.x: must be plain JSON: has a toJSON function',
    ],
  ])('a descriptor does not hold %s', (_, descriptor, message) => {
    expect(told(plain('a', { descriptor }))).toEqual([message]);
  });

  test('a descriptor holds no cycle', () => {
    const metadata: Record<string, unknown> = {};
    metadata.self = metadata;
    expect(told(plain('a', { descriptor: { metadata } }))).toEqual([
      expect.stringMatching(/^a\.metadata.*is a cycle$/),
    ]);
  });

  test('every key that JSON would lose is told', () => {
    const metadata = { a: () => 1, b: 1n, c: 'fine', d: Symbol('x') };
    expect(told(plain('a', { descriptor: { metadata } }))).toHaveLength(3);
  });

  test.each<[string, Parts, string]>([
    ['description', { descriptor: { description: 3 } }, 'a.description: must be a text'],
    ['executor', { descriptor: { executor: '' } }, 'a.executor: must be the name of an executor'],
    ['tools', { tools: 'search' as never }, 'a.tools: must be a list of tools and names of tools'],
    [
      'a tool',
      { tools: [{ name: 'x' } as never] },
      'a.tools[0]: is neither a tool, as tool() makes it, nor the name of a host tool',
    ],
    [
      'a tool without a name',
      { tools: ['x', ' '] },
      'a.tools[1]: is neither a tool, as tool() makes it, nor the name of a host tool',
    ],
    ['instruction', { instruction: 3 as never }, 'a.instruction: must be a text or a function that returns one'],
    [
      'model',
      { model: {} as never },
      'a.model: must be a name such as "gemini/gemini-flash-latest", or an object with generate and generateStream',
    ],
    ['outputKey', { outputKey: '' }, 'a.outputKey: must be the name of a state key'],
    ['contextBudget', { contextBudget: { maxTokens: 0 } }, 'a.contextBudget.maxTokens: must be a whole number from 1'],
  ])('%s of the wrong kind is told', (_, parts, message) => {
    expect(told(plain('a', parts))).toEqual([message]);
  });

  test('an own tool and a host tool of one short name cannot be told apart', () => {
    const own = { kind: 'tool', name: 'search', descriptor: {}, execute: () => 1 } as never;
    expect(told(plain('a', { tools: ['search', own] }))).toEqual([
      'a.tools[1]: a second tool "search" (the first is a.tools[0]); an agent tells its tools apart by name',
    ]);
  });
});

test('describeAgent gives a copy, and says every fault in one error', () => {
  const tree = team('root', [plain('a'), plain('b')]);
  const described = describeAgent(tree);
  described.description = 'changed';
  described.subAgents?.pop();
  expect(describeAgent(tree)).toMatchObject({ description: 'root', subAgents: [{ name: 'a' }, { name: 'b' }] });
  const broken = team('root', [plain('a b'), plain('c d')]);
  expect(() => describeAgent(broken)).toThrow(
    expect.objectContaining({
      code: 'INVALID_DEFINITION',
      message: expect.stringMatching(/^2 problems:\n- root\/a b\.name: .*\n- root\/c d\.name: /),
      problems: [
        expect.objectContaining({ path: 'root/a b.name' }),
        expect.objectContaining({ path: 'root/c d.name' }),
      ],
    }),
  );
});
