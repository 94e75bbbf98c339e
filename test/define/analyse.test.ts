import { expect, test } from 'vitest';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { analyseTeam } from '../../src/define/analyse.js';
import { hierarchical as typedHierarchical } from '../../src/define/hierarchical.js';
import { loop as typedLoop } from '../../src/define/loop.js';
import { parallel as typedParallel } from '../../src/define/parallel.js';
import { sequential as typedSequential } from '../../src/define/sequential.js';
import { tool } from '../../src/define/tool.js';
import { transfer as typedTransfer } from '../../src/define/transfer.js';

// What an author types is held to by the compiler; here it is what a file may say.
type Untyped = (options: object) => AgentDefinition;
const hierarchical = typedHierarchical as unknown as Untyped;
const loop = typedLoop as unknown as Untyped;
const parallel = typedParallel as unknown as Untyped;
const sequential = typedSequential as unknown as Untyped;
const transfer = typedTransfer as unknown as Untyped;

type Options = object;
const one = (name: string, options: Options = {}) =>
  agent({ name, description: `${name} works.`, ...options } as never) as unknown as AgentDefinition;
const object = (properties: Record<string, string>, required = Object.keys(properties)) => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(properties).map(([key, type]) => [key, { type }])),
  required,
});

const analyse = (definition: unknown, hostTools: string[] = []) =>
  analyseTeam(definition as AgentDefinition, { hostTools });
const problemsOf = (definition: unknown, hostTools: string[] = []) =>
  analyse(definition, hostTools).problems.map(({ code, path, message }) => `${code} ${path}: ${message}`);
const worstOf = (definition: unknown) => analyse(definition).worstCase;

test('a team without faults has no problems', () => {
  const team = sequential({ name: 'team', children: [one('a', { tools: ['read_file'] }), one('b')] });
  expect(problemsOf(team, ['read_file'])).toEqual([]);
});

test('a tool that neither host nor agent has is named, with what it may have meant', () => {
  const own = tool({ name: 'mine', description: '', parameters: { type: 'object' }, execute: () => '' });
  const team = sequential({ name: 'team', children: [one('a', { tools: [own, 'raed_file', 'ask_user'] })] });
  expect(problemsOf(team, ['read_file'])).toEqual([
    'UNKNOWN_TOOL team/a.tools[1]: no tool "raed_file" (did you mean "read_file"?); the host has read_file',
  ]);
});

test('the tools of a leader are looked at, and a tool is reported once', () => {
  const lead = one('lead', { tools: ['nobody'], requiredTools: ['nobody'] } as never);
  expect(problemsOf(hierarchical({ name: 'team', agent: lead, children: [one('a')] }))).toEqual([
    'UNKNOWN_TOOL team/lead.tools[0]: no tool "nobody"; the host has none',
  ]);
});

test('an executor that is not registered is named, where the registered ones are known', () => {
  const team = sequential({ name: 'team', children: [one('a', { executor: 'loacl' }), one('b')] });
  expect(analyseTeam(team, { hostTools: [], executors: ['local', 'remote'] }).problems).toEqual([
    {
      code: 'UNKNOWN_EXECUTOR',
      path: 'team/a.executor',
      message: 'no executor "loacl" (did you mean "local"?); registered: local, remote',
    },
  ]);
  expect(problemsOf(team)).toEqual([]);
});

test('members that nobody can hand over to are unreachable', () => {
  const members = [one('triage'), one('billing'), one('legal'), one('archive')] as const;
  const desk = transfer({
    name: 'desk',
    members,
    start: 'triage',
    targets: { triage: ['billing'], legal: ['archive'] },
  });
  expect(problemsOf(desk)).toEqual([
    'UNREACHABLE_MEMBER desk/legal: no member that "triage" leads to may hand over to "legal": add it to targets, or leave it out',
    'UNREACHABLE_MEMBER desk/archive: no member that "triage" leads to may hand over to "archive": add it to targets, or leave it out',
  ]);
});

test('without targets every member can be reached', () => {
  expect(problemsOf(transfer({ name: 'desk', members: [one('a'), one('b')], start: 'a' }))).toEqual([]);
});

test('neighbours of a sequence must fit: what is required must be given, and of the right type', () => {
  const team = sequential({
    name: 'team',
    children: [
      one('a', { outputSchema: object({ facts: 'string', count: 'integer' }) }),
      one('b', { inputSchema: object({ facts: 'string', count: 'number' }), outputSchema: object({ facts: 'array' }) }),
      one('c', { inputSchema: object({ facts: 'string', source: 'string' }) }),
    ],
  });
  expect(problemsOf(team)).toEqual([
    'SCHEMA_MISMATCH team/c.inputSchema: needs "source", which "b" does not give (it gives "facts")',
    'SCHEMA_MISMATCH team/c.inputSchema: needs "facts" as string, but "b" gives array',
  ]);
});

test('text reaches an agent as its prompt, and nothing else', () => {
  const wantsTopic = one('b', { inputSchema: object({ topic: 'string' }) });
  expect(problemsOf(sequential({ name: 'team', children: [one('a'), wantsTopic] }))).toEqual([
    'SCHEMA_MISMATCH team/b.inputSchema: needs "topic", which "a" does not give (it gives text)',
  ]);
  const wantsPrompt = one('b', { inputSchema: object({ prompt: 'string', tone: 'string' }, ['prompt']) });
  expect(problemsOf(sequential({ name: 'team', children: [one('a'), wantsPrompt] }))).toEqual([]);
});

test('data of any shape reaches an agent that takes a prompt', () => {
  expect(
    problemsOf(sequential({ name: 'team', children: [one('a', { outputSchema: object({ x: 'number' }) }), one('b')] })),
  ).toEqual([]);
});

test('a composition passes on what it is given, and gives what its last child gives', () => {
  const inner = sequential({
    name: 'inner',
    children: [one('b', { inputSchema: object({ x: 'number' }), outputSchema: object({ y: 'number' }) })],
  });
  const fits = sequential({
    name: 'team',
    children: [
      one('a', { outputSchema: object({ x: 'number' }) }),
      inner,
      one('c', { inputSchema: object({ y: 'number' }) }),
    ],
  });
  expect(problemsOf(fits)).toEqual([]);
  const breaks = sequential({ name: 'team', children: [one('a', { outputSchema: object({ z: 'number' }) }), inner] });
  expect(problemsOf(breaks)).toEqual([
    'SCHEMA_MISMATCH team/inner/b.inputSchema: needs "x", which "a" does not give (it gives "z")',
  ]);
});

test('a parallel gives a map of its children by name', () => {
  const gather = parallel({ name: 'gather', children: [one('a'), one('b')] });
  const next = (keys: Record<string, string>) =>
    sequential({ name: 'team', children: [gather, one('c', { inputSchema: object(keys) })] });
  expect(problemsOf(next({ a: 'string' }))).toEqual([]);
  expect(problemsOf(next({ z: 'string' }))).toEqual([
    'SCHEMA_MISMATCH team/c.inputSchema: needs "z", which "gather" does not give (it gives "a", "b")',
  ]);
});

test('the last child of a loop is a neighbour of the first', () => {
  const write = one('write', { inputSchema: object({ draft: 'string' }), outputSchema: object({ text: 'string' }) });
  const polish = loop({
    name: 'polish',
    children: [write],
    maxIterations: 3,
    inputSchema: object({ draft: 'string' }),
  });
  const before = one('a', { outputSchema: object({ draft: 'string' }) });
  expect(problemsOf(sequential({ name: 'team', children: [before, polish] as never }))).toEqual([
    'SCHEMA_MISMATCH team/polish/write.inputSchema: needs "draft", which "write" does not give (it gives "text")',
  ]);
});

test('mapInput may reshape anything: nothing is said of the neighbours', () => {
  const team = sequential({
    name: 'team',
    children: [one('a'), one('b', { inputSchema: object({ topic: 'string' }) })],
    mapInput: () => ({ topic: 'x' }),
  });
  expect(problemsOf(team)).toEqual([]);
});

test('a loop or a transfer without a bound is a problem, and the worst case has no number', () => {
  const bounded = loop({ name: 'polish', children: [one('a')], maxIterations: 2 }) as unknown as AgentDefinition;
  const composition = { ...bounded.descriptor.composition!, maxIterations: undefined };
  const endless = { ...bounded, descriptor: { ...bounded.descriptor, composition } } as unknown as AgentDefinition;
  const { problems, worstCase } = analyse(endless);
  expect(problems.map(({ code, path }) => [code, path])).toEqual([['UNBOUNDED_LOOP', 'polish.maxIterations']]);
  expect(worstCase.modelCalls).toBeUndefined();
});

test('a definition that holds itself is reported, not followed', () => {
  const broken = sequential({ name: 'team', children: [one('a')] }) as unknown as { children: unknown[] };
  const children = [...broken.children];
  const itself = { ...broken, children };
  children.push(itself);
  expect(problemsOf(itself).join('\n')).toContain('contains itself');
});

test('an agent is bounded by the lower of its turns and calls, and by a grace turn', () => {
  expect(worstOf(one('a'))).toEqual({ modelCalls: 100, assumptions: [] });
  expect(worstOf(one('a', { constraints: { maxTurns: 8 } })).modelCalls).toBe(8);
  expect(worstOf(one('a', { constraints: { maxTurns: 8, maxLlmCalls: 5 } })).modelCalls).toBe(5);
  expect(worstOf(one('a', { constraints: { maxTurns: 8, graceTurn: true } })).modelCalls).toBe(9);
  expect(worstOf(one('a', { constraints: { maxTurns: 8, maxLlmCalls: 5, graceTurn: true } })).modelCalls).toBe(6);
  expect(worstOf(one('a', { constraints: { maxTurns: 900 } })).modelCalls).toBe(500);
});

const limited = (name: string, maxTurns: number, more: Options = {}) =>
  one(name, { constraints: { maxTurns }, ...more });

test('sequences and parallels add up, loops multiply; a sub-agent has 15 turns', () => {
  expect(worstOf(sequential({ name: 's', children: [limited('a', 2), one('b')] })).modelCalls).toBe(17);
  expect(worstOf(parallel({ name: 'p', children: [limited('a', 2), limited('b', 3)] })).modelCalls).toBe(5);
  expect(worstOf(loop({ name: 'l', children: [limited('a', 2), limited('b', 3)], maxIterations: 4 })).modelCalls).toBe(
    20,
  );
  const nested = sequential({
    name: 's',
    children: [loop({ name: 'l', children: [limited('a', 2)], maxIterations: 3 }), limited('b', 1)],
  });
  expect(worstOf(nested).modelCalls).toBe(7);
});

test('a transfer is bounded by its transfers and the costliest member that can be reached', () => {
  const members = [limited('a', 2), limited('b', 5), limited('c', 90)];
  const desk = (more: object) => transfer({ name: 'desk', members, start: 'a', targets: { a: ['b'] }, ...more });
  expect(worstOf(desk({})).modelCalls).toBe(55);
  expect(worstOf(desk({ maxTransfers: 1 })).modelCalls).toBe(10);
  expect(worstOf(desk({ maxTransfers: 0 })).modelCalls).toBe(5);
});

test('a leader may call every child in every turn, and that it calls each once is said', () => {
  const team = hierarchical({ name: 'team', agent: limited('lead', 4), children: [limited('a', 2), limited('b', 3)] });
  expect(worstOf(team)).toEqual({
    modelCalls: 4 + 4 * 5,
    assumptions: [
      '"lead" calls each of its children at most once per turn (otherwise its run ends at 500 model calls)',
    ],
  });
});

test('maxLlmCalls of a composition bounds all that is below it, and then nothing is assumed', () => {
  const constraints = { maxLlmCalls: 6 };
  expect(worstOf(sequential({ name: 's', children: [limited('a', 5), limited('b', 5)], constraints })).modelCalls).toBe(
    6,
  );
  const led = hierarchical({ name: 'team', agent: limited('lead', 4), children: [limited('a', 2)], constraints });
  expect(worstOf(led)).toEqual({ modelCalls: 6, assumptions: [] });
  const inner = hierarchical({ name: 'team', agent: limited('lead', 2), children: [limited('a', 2)] });
  expect(worstOf(sequential({ name: 's', children: [inner] })).assumptions.join()).toContain(
    'nothing but the number of its turns',
  );
});

test('the limits of a hierarchy win over those of its leader', () => {
  const team = hierarchical({
    name: 'team',
    agent: limited('lead', 40),
    children: [limited('a', 2)],
    constraints: { maxTurns: 3 },
  });
  expect(worstOf(team).modelCalls).toBe(9);
});

test('restarts are counted', () => {
  const team = sequential({
    name: 's',
    children: [limited('a', 2), limited('b', 3)],
    supervise: { children: { a: { restart: 'on_failure', maxRestarts: 2 } } },
  });
  expect(worstOf(team).modelCalls).toBe(9);
});

test('a cost is given only where every agent is bounded by one', () => {
  const cheap = (name: string) => one(name, { constraints: { maxTurns: 2, maxBudgetUsd: 0.25 } });
  expect(worstOf(sequential({ name: 's', children: [cheap('a'), cheap('b')] })).usd).toBe(0.5);
  expect(worstOf(sequential({ name: 's', children: [cheap('a'), one('b')] })).usd).toBeUndefined();
  expect(
    worstOf(sequential({ name: 's', children: [cheap('a'), one('b')], constraints: { maxBudgetUsd: 2 } })).usd,
  ).toBe(2);
});

test('an agent that runs its own model is counted by its limits, and that is said', () => {
  const team = sequential({ name: 's', children: [limited('a', 2, { executor: 'remote' })] });
  expect(worstOf(team).modelCalls).toBe(2);
  expect(worstOf(team).assumptions.join()).toContain('s/a runs its own model (executor "remote")');
});
