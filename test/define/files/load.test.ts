import { createHash } from 'node:crypto';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadAgentFile } from '../../../src/define/files/load.js';
import { describeAgent } from '../../../src/kernel/definition.js';
import { agentFile, agentFolder, load } from './agent-folder.js';

const researcher = `---
name: researcher
description: Finds facts.
model: gemini/gemini-flash-latest
tools: [read_file, search_text]
max_turns: 8
---
Be brief. Cite files.
`;

const team = `name: report
pattern: sequential
children:
  - pattern: parallel
    name: gather
    children: [./researcher.agent.md, ./skeptic.agent.md]
  - ./writer.agent.md
`;

const report = {
  'report.team.yaml': team,
  'researcher.agent.md': researcher,
  'skeptic.agent.md': agentFile('skeptic'),
  'writer.agent.md': agentFile('writer'),
};

describe('an agent file', () => {
  test('becomes a definition with what it says', async () => {
    const { definition, notices, files, folder } = await load({ 'researcher.agent.md': researcher });
    expect(definition).toMatchObject({
      kind: 'agent',
      name: 'researcher',
      instruction: 'Be brief. Cite files.',
      model: 'gemini/gemini-flash-latest',
      tools: ['read_file', 'search_text'],
      descriptor: {
        description: 'Finds facts.',
        executor: 'local',
        requiredTools: ['read_file', 'search_text'],
        constraints: { maxTurns: 8 },
      },
    });
    expect(definition.inheritTools).toBeUndefined();
    expect([notices, files]).toEqual([[], [join(folder, 'researcher.agent.md')]]);
  });

  test('carries where it stands, relative to its folder, and the hash of its bytes', async () => {
    const { definition } = await load({ 'researcher.agent.md': researcher });
    const hash = createHash('sha256').update(researcher).digest('hex');
    expect(definition.descriptor.metadata).toEqual({ filePath: 'researcher.agent.md', hash });
  });

  test('keeps {input.x} and {state.x} and the lines of its text as they are', async () => {
    const text = '---\nname: a\ndescription: A.\n---\n\n# Do {input.topic}\n\n  - with {state.facts}\n\n---\nmore\n\n';
    expect((await load({ 'a.agent.md': text })).definition.instruction).toBe(
      '# Do {input.topic}\n\n  - with {state.facts}\n\n---\nmore',
    );
  });

  test('reads every option, in snake_case as in camelCase', async () => {
    const snake = `
name: full
display_name: Full
description: All of it.
model: openrouter/x
instruction: Do.
tools: [glob]
inherit_tools: true
required_tools: [read_file]
input_schema: { type: object, properties: { topic: { type: string } }, required: [topic] }
output_schema: { type: object, properties: { ok: { type: boolean } } }
constraints: { max_turns: 3, max_time_minutes: 1.5, max_llm_calls: 9, max_budget_usd: 0.5, grace_turn: true }
executor: remote
backend: { card_url: 'http://127.0.0.1/card', auth: { kind: none } }
output_key: verdict
generation: { temperature: 0.2, top_p: 0.9, top_k: 40, max_output_tokens: 100, stop_sequences: [END], thinking: { budget: 10, include_thoughts: true } }
context_budget: { max_tokens: 1000, strategy: truncate }
capabilities: [streaming]
include_history: false
metadata: { team: red }
`;
    const camel = snake.replace(
      /\b([a-z]+)((?:_[a-z]+)+)(?=:)/g,
      (_, first: string, rest: string) =>
        first + rest.replace(/_([a-z])/g, (__, letter: string) => letter.toUpperCase()),
    );
    expect(camel).toContain('maxOutputTokens');
    const [one, two] = [await load({ 'full.yaml': snake }), await load({ 'full.yaml': camel })];
    const plain = (definition: typeof one.definition) => {
      const { metadata, ...descriptor } = definition.descriptor;
      return { ...definition, backend: Object.values(definition.backend as object), descriptor };
    };
    expect(plain(two.definition)).toEqual(plain(one.definition));
    expect(one.definition).toMatchObject({
      instruction: 'Do.',
      inheritTools: true,
      outputKey: 'verdict',
      includeHistory: false,
      contextBudget: { maxTokens: 1000, strategy: 'truncate' },
      backend: { card_url: 'http://127.0.0.1/card', auth: { kind: 'none' } },
      generation: {
        temperature: 0.2,
        topP: 0.9,
        topK: 40,
        maxOutputTokens: 100,
        stopSequences: ['END'],
        thinking: { budget: 10, includeThoughts: true },
      },
      descriptor: {
        displayName: 'Full',
        executor: 'remote',
        requiredTools: ['glob', 'read_file'],
        capabilities: ['streaming'],
        constraints: { maxTurns: 3, maxTimeMinutes: 1.5, maxLlmCalls: 9, maxBudgetUsd: 0.5, graceTurn: true },
        inputSchema: { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] },
        outputSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
        metadata: { team: 'red', filePath: 'full.yaml' },
      },
    });
  });

  test('limits may stand beside the other keys, minutes also as timeout_mins', async () => {
    const { definition } = await load({
      'a.yaml': 'name: a\ndescription: A.\ntimeout_mins: 2\nmax_llm_calls: 4\nmax_budget_usd: 1\ngrace_turn: false\n',
    });
    expect(definition.descriptor.constraints).toEqual({
      maxTimeMinutes: 2,
      maxLlmCalls: 4,
      maxBudgetUsd: 1,
      graceTurn: false,
    });
  });

  test('is the same as JSON, as YAML and as Markdown', async () => {
    const { definition: md } = await load({ 'a.agent.md': agentFile('a', 'max_turns: 2\n') });
    const keys = { name: 'a', description: 'Does a.', max_turns: 2, instruction: 'Be a.' };
    const { definition: json } = await load({ 'a.json': JSON.stringify(keys, null, '\t') });
    const plain = (definition: typeof md) => ({
      ...definition,
      descriptor: { ...definition.descriptor, metadata: {} },
    });
    expect(plain(json)).toEqual(plain(md));
  });

  test('with CR LF and a byte order mark is read like any other', async () => {
    const { definition } = await load({ 'a.agent.md': `\ufeff${agentFile('a').replaceAll('\n', '\r\n')}two\r\nthree` });
    expect(definition).toMatchObject({ name: 'a', instruction: 'Be a.\ntwo\nthree' });
  });

  test('model inherit is no model', async () => {
    const { definition } = await load({ 'a.yaml': 'name: a\ndescription: A.\nmodel: inherit\n' });
    expect(definition.model).toBeUndefined();
  });

  test('names its schemas as files too, JSON or YAML', async () => {
    const { definition, files, folder } = await load({
      'a.yaml': 'name: a\ndescription: A.\ninput_schema: schemas/in.json\noutput_schema: schemas/out.yaml\n',
      'schemas/in.json': '{ "type": "object", "properties": { "q": { "type": "string" } } }',
      'schemas/out.yaml': 'type: object\nproperties:\n  ok: { type: boolean }\n',
    });
    expect(definition.descriptor.inputSchema).toEqual({ type: 'object', properties: { q: { type: 'string' } } });
    expect(definition.descriptor.outputSchema).toEqual({ type: 'object', properties: { ok: { type: 'boolean' } } });
    expect(files.map((file) => relative(folder, file))).toEqual(['a.yaml', 'schemas/in.json', 'schemas/out.yaml']);
  });

  test('names a script, which is told with its whole path', async () => {
    const { definition, script, folder } = await load({
      'sub/a.agent.md': agentFile('a', 'script: ../demo.script.yaml\n'),
      'demo.script.yaml': '- text: hi\n',
    });
    expect([script, definition.script]).toEqual([join(folder, 'demo.script.yaml'), join(folder, 'demo.script.yaml')]);
  });
});

describe('a team file', () => {
  test('holds agents of other files and teams inside', async () => {
    const { definition, files, folder } = await load(report);
    expect(describeAgent(definition)).toMatchObject({
      name: 'report',
      executor: 'composition',
      composition: { pattern: 'sequential', children: ['gather', 'writer'] },
      subAgents: [
        {
          name: 'gather',
          composition: { pattern: 'parallel', children: ['researcher', 'skeptic'] },
          subAgents: [{ name: 'researcher' }, { name: 'skeptic' }],
        },
        { name: 'writer' },
      ],
    });
    expect(files.map((file) => relative(folder, file))).toEqual(Object.keys(report));
  });

  test('tells for each agent the file it stands in, relative to the named file and never absolute', async () => {
    const { definition } = await load({
      'teams/report.team.yaml': 'name: r\npattern: sequential\nchildren: [../agents/a.agent.md, sub/b.team.yaml]\n',
      'agents/a.agent.md': agentFile('a'),
      'teams/sub/b.team.yaml': 'name: b\npattern: sequential\nchildren: [c.agent.md, { name: d, description: D. }]\n',
      'teams/sub/c.agent.md': agentFile('c'),
    });
    const paths: [string, unknown][] = [];
    const visit = (one: typeof definition) => {
      paths.push([one.name, one.descriptor.metadata?.filePath]);
      for (const child of one.children ?? []) visit(child);
    };
    visit(definition);
    expect(paths).toEqual([
      ['r', 'report.team.yaml'],
      ['a', '../agents/a.agent.md'],
      ['b', 'sub/b.team.yaml'],
      ['c', 'sub/c.agent.md'],
      ['d', 'sub/b.team.yaml'],
    ]);
    expect(JSON.stringify(describeAgent(definition))).not.toContain('troupe-files-');
  });

  test('is read from a relative path too', async () => {
    const folder = await agentFolder(report);
    const { definition, files } = await loadAgentFile(relative(process.cwd(), join(folder, 'report.team.yaml')));
    expect(definition.name).toBe('report');
    expect(files.every((file) => !file.startsWith('/'))).toBe(true);
  });

  test('of each pattern takes its options', async () => {
    const child = (name: string) => `{ name: ${name}, description: "${name}." }`;
    const sequential = await load({
      's.team.yaml': `name: s\npattern: sequential\non_failure: continue\nmax_depth: 2\noutput_key: end\nstate: { notes: { initial: [], reducer: append }, my_key: { initial: 1 }, myKey: {} }\nchildren: [${child('a')}]\n`,
    });
    expect(sequential.definition).toMatchObject({
      outputKey: 'end',
      behaviour: { state: { notes: { initial: [], reducer: 'append' }, my_key: { initial: 1 }, myKey: {} } },
      descriptor: { composition: { onFailure: 'continue', maxDepth: 2, state: { notes: { reducer: 'append' } } } },
    });
    const parallel = await load({
      'p.team.yaml': `name: p\npattern: parallel\nconcurrency: 2\nfailure: fail_fast\njoin: { quorum: 1 }\nsupervise: { strategy: one_for_all, children: { a: { restart: on_failure, max_restarts: 2, within_ms: 100, backoff_ms: 5 } } }\nchildren: [${child('a')}, ${child('b')}]\n`,
    });
    expect(parallel.definition.descriptor.composition).toEqual({
      pattern: 'parallel',
      children: ['a', 'b'],
      concurrency: 2,
      failure: 'fail_fast',
      join: { quorum: 1 },
      supervise: {
        strategy: 'one_for_all',
        children: { a: { restart: 'on_failure', maxRestarts: 2, withinMs: 100, backoffMs: 5 } },
      },
    });
    const transfer = await load({
      't.team.yaml': `name: t\npattern: transfer\nstart: triage\ntargets: { triage: [billing] }\nmax_transfers: 3\ncontext: { last: 4 }\nmembers: [${child('triage')}, ${child('billing')}]\n`,
    });
    expect(transfer.definition.descriptor.composition).toEqual({
      pattern: 'transfer',
      children: ['triage', 'billing'],
      start: 'triage',
      transferTargets: { triage: ['billing'] },
      maxTransfers: 3,
      context: { last: 4 },
    });
    const hierarchical = await load({
      'h.team.yaml': `name: h\npattern: hierarchical\nconcurrency: 4\nagent: ./lead.agent.md\nchildren: [${child('a')}]\n`,
      'lead.agent.md': agentFile('lead'),
    });
    expect(hierarchical.definition.leader?.name).toBe('lead');
    expect(hierarchical.definition.descriptor.composition).toMatchObject({
      leader: 'lead',
      concurrency: 4,
      children: ['a'],
    });
    const led = await load({
      'h.team.yaml': `name: h\npattern: hierarchical\nleader: ${child('boss')}\nchildren: [${child('a')}]\n`,
    });
    expect(led.definition.leader?.name).toBe('boss');
  });

  test('names a script like an agent does', async () => {
    const { definition, script, folder } = await load({
      't.team.yaml': 'name: t\npattern: sequential\nscript: ./x.yaml\nchildren: [{ name: a, description: A. }]\n',
      'x.yaml': '[]',
    });
    expect([script, definition.script]).toEqual([join(folder, 'x.yaml'), join(folder, 'x.yaml')]);
  });

  test('may be the front matter of a Markdown file without text', async () => {
    const { definition } = await load({
      't.md': '---\nname: t\npattern: sequential\nchildren:\n  - name: a\n    description: A.\n---\n',
    });
    expect(definition.descriptor.composition?.pattern).toBe('sequential');
  });

  test('may use an anchor for what it says twice', async () => {
    const { definition } = await load({
      't.team.yaml':
        'name: t\npattern: sequential\nchildren:\n  - { name: a, description: A., constraints: &few { max_turns: 2 } }\n  - { name: b, description: B., constraints: *few }\n',
    });
    expect(definition.children?.map(({ descriptor }) => descriptor.constraints)).toEqual([
      { maxTurns: 2 },
      { maxTurns: 2 },
    ]);
  });
});

describe('until', () => {
  const loopWith = async (until: string, more = '') => {
    const { definition } = await load({
      'l.team.yaml': `name: l\npattern: loop\nmax_iterations: 5\nuntil: ${until}\n${more}children:\n  - { name: a, description: A., output_key: done }\n`,
    });
    return definition.behaviour?.until as (context: object) => boolean;
  };

  test('by a state key holds when the key has that value', async () => {
    const until = await loopWith('{ state: done, equals: true }');
    expect(until({ state: { done: true }, last: undefined, iteration: 1 })).toBe(true);
    expect(until({ state: { done: 'true' }, last: undefined, iteration: 1 })).toBe(false);
    expect(until({ state: {}, last: { done: true }, iteration: 1 })).toBe(false);
  });

  test('by a field of the last output holds when it is there with that value', async () => {
    const until = await loopWith('{ last: review.ok, equals: { score: [1, 2] } }');
    expect(until({ state: {}, last: { review: { ok: { score: [1, 2] } } }, iteration: 1 })).toBe(true);
    expect(until({ state: {}, last: { review: { ok: { score: [1] } } }, iteration: 1 })).toBe(false);
    for (const last of [undefined, null, 'review.ok', { review: null }, {}]) {
      expect(until({ state: {}, last, iteration: 1 })).toBe(false);
    }
  });

  test('finds nothing that every object has', async () => {
    const until = await loopWith('{ last: constructor.name, equals: Object }');
    expect(until({ state: {}, last: {}, iteration: 1 })).toBe(false);
  });
});
