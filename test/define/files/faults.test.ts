import { execFile } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loadAgentFile } from '../../../src/define/files/load.js';
import { agentFile, agentFolder, faults, faultsOf } from './agent-folder.js';
import '../../support/process-limit.js';

describe('a file that cannot be read', () => {
  test.each([
    ['empty', 'a.agent.md', '', 'a.agent.md: is empty'],
    ['white space', 'a.yaml', ' \n\n', 'a.yaml: is empty'],
    ['not UTF-8', 'a.yaml', Buffer.from([0x6e, 0xff, 0xfe]), 'a.yaml: is not UTF-8 text'],
    ['UTF-16', 'a.yaml', Buffer.from('\ufeffname: a', 'utf16le'), 'a.yaml: is not UTF-8 text'],
    ['huge', 'a.yaml', Buffer.alloc(1024 * 1024 + 1, '#'), 'a.yaml: is larger than 1 MB'],
    [
      'of another kind',
      'a.toml',
      'x',
      'a.toml: is no agent file: .md, .yaml, .yml, .json, .ts, .mts, .js and .mjs are',
    ],
    ['only a comment', 'a.yaml', '# nothing\n', 'a.yaml:1: must hold keys with values, not nothing'],
    ['a list', 'a.yaml', '\n- a\n', 'a.yaml:2: must hold keys with values, not a list'],
    ['a word', 'a.json', '"x"', 'a.json:1: must hold keys with values, not a single value'],
  ])('%s', async (_, name, content, said) => {
    expect(await faults({ [name]: content })).toEqual([said]);
  });

  test('missing, a folder, or a pipe', async () => {
    const folder = await agentFolder({ 'sub.md/a.md': agentFile('a'), 'writer.agent.md': agentFile('writer') });
    const say = (name: string) => faultsOf(folder, loadAgentFile(join(folder, name)));
    expect(await say('nope.yaml')).toEqual(['nope.yaml: does not exist']);
    expect(await say('writr.agent.md')).toEqual(['writr.agent.md: does not exist (did you mean "writer.agent.md"?)']);
    await mkdir(join(folder, 'team'));
    for (const name of ['sub.md', 'team']) expect(await say(name)).toEqual([`${name}: is a folder; name a file`]);
    if (process.platform === 'win32') return;
    await promisify(execFile)('mkfifo', [join(folder, 'pipe.yaml')]);
    expect(await say('pipe.yaml')).toEqual(['pipe.yaml: is not a regular file']);
  });
});

describe('syntax', () => {
  test('a Markdown file needs front matter that ends', async () => {
    expect(await faults({ 'a.agent.md': '# Agent\n' })).toEqual([
      'a.agent.md:1: has no front matter: the first line must be "---", the keys follow, then "---" again',
    ]);
    expect(await faults({ 'a.agent.md': '---\nname: a\n' })).toEqual([
      'a.agent.md:1: has front matter that is not closed by a line "---"',
    ]);
  });

  test('a fault in front matter is told in the line of the file', async () => {
    expect(await faults({ 'a.agent.md': '---\nname: a\ntools: [x\n---\n' })).toEqual([
      expect.stringMatching(/^a\.agent\.md:\d: is no YAML: /),
    ]);
    const [said] = await faults({ 'a.agent.md': '---\nname: a\nmodel: "x\n---\nBe.\n' });
    expect(said).toMatch(/^a\.agent\.md:3: is no YAML: Missing closing/);
  });

  test('JSON is taken strictly', async () => {
    expect(await faults({ 'a.json': '{\n  "name": "a",\n}' })).toEqual([
      expect.stringMatching(/^a\.json:3: is no JSON: /),
    ]);
    expect(await faults({ 'a.json': '{\n  "name": "a"' })).toEqual([expect.stringMatching(/^a\.json:2: is no JSON: /)]);
    expect(await faults({ 'a.json': 'name: a' })).toEqual([expect.stringMatching(/^a\.json:1: is no JSON: /)]);
    expect(await faults({ 'a.json': '{"name": "a",\n"name": "b", "description": ""}' })).toEqual([
      'a.json:2:name: stands twice; the first is in line 1',
      'a.json:2:description: is empty',
    ]);
  });

  test('what is more than plain data is refused', async () => {
    const say = (text: string) => faults({ 'a.yaml': `name: a\ndescription: A.\n${text}` });
    expect(await say('backend: !!js/function "x"\n')).toEqual([
      'a.yaml:3: the tag tag:yaml.org,2002:js/function is not allowed: files hold plain data only',
    ]);
    expect(await say('backend:\n  - !secret x\n')).toEqual([
      'a.yaml:4: the tag !secret is not allowed: files hold plain data only',
    ]);
    expect(await say('backend: !!binary aGk=\n')).toHaveLength(1);
    expect(await say('backend: .nan\n')).toEqual(['a.yaml:3: NaN is no number that JSON knows']);
    expect(await say('backend: { 1: x }\n')).toEqual(['a.yaml:3: a key must be a text; put it in quotes']);
    expect(await say('backend:\n  __proto__: { admin: true }\n')).toEqual([
      'a.yaml:4:__proto__: is no key that is allowed',
    ]);
    expect(await say('backend: *nobody\n')).toEqual([
      'a.yaml:3: the alias *nobody names nothing that stands before it',
    ]);
    expect(await say('backend: &b\n  self: *b\n')).toEqual(['a.yaml:4: the alias *b stands in what it names']);
    expect(await say('---\nname: b\n')).toEqual(['a.yaml:3: holds more than one document; a file is one']);
    expect(await say('<<: { model: x }\n')).toEqual([expect.stringMatching(/^a\.yaml:3:<<: is unknown/)]);
  });

  test('keys that stand twice are told with the line of the first', async () => {
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\nmodel: x\nmodel: y\n' })).toEqual([
      'a.yaml:4:model: stands twice; the first is in line 3',
    ]);
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\nmax_turns: 1\nmaxTurns: 1\n' })).toEqual([
      'a.yaml:4:maxTurns: stands twice, as maxTurns and as max_turns',
    ]);
    expect(
      await faults({ 'a.yaml': 'name: a\ndescription: A.\nmax_turns: 1\nconstraints: { max_turns: 2 }\n' }),
    ).toEqual(['a.yaml:4:constraints.max_turns: stands twice; give each limit once']);
  });

  test('documents made to blow up are refused quickly', async () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from('bcdefghi', (name) => {
      const before = String.fromCharCode(name.charCodeAt(0) - 1);
      return `${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(',')}]`;
    }).join('\n')}\n`;
    expect(await faults({ 'a.yaml': bomb })).toContainEqual(
      expect.stringMatching(/^a\.yaml:\d+: holds more than 20000 values, counting aliases each time$/),
    );
    expect(await faults({ 'a.yaml': `name: ${'['.repeat(50_000)}` })).toEqual([
      'a.yaml:1: is nested deeper than 100 levels',
    ]);
    expect(await faults({ 'a.json': `{"name":${'['.repeat(50_000)}${']'.repeat(50_000)}}` })).toHaveLength(1);
    const deep = Array.from({ length: 150 }, (_, at) => `${' '.repeat(at)}a:`).join('\n');
    expect(await faults({ 'a.yaml': deep })).toContainEqual('a.yaml:101: is nested deeper than 100 levels');
    const many = Array.from({ length: 30_000 }, (_, at) => `k${at}: &a${at} *a${at}`).join('\n');
    expect((await faults({ 'a.yaml': many })).length).toBeGreaterThan(0);
    const aliases = `backend: [&x 1${', *x'.repeat(19_000)}]\nname: a\ndescription: A.\n`;
    expect(await faults({ 'a.yaml': aliases })).toEqual([]);
  });
});

describe('keys and values', () => {
  test('a key that is unknown is told with the nearest that is known, in its own style', async () => {
    expect(
      await faults({ 'a.yaml': 'name: a\ndescription: A.\nmax_trns: 1\nmaxTruns: 1\ninstrction: x\nwholly_else: 1\n' }),
    ).toEqual([
      'a.yaml:3:max_trns: is unknown (did you mean "max_turns"?)',
      'a.yaml:4:maxTruns: is unknown (did you mean "maxTurns"?)',
      'a.yaml:5:instrction: is unknown (did you mean "instruction"?)',
      expect.stringMatching(/^a\.yaml:6:wholly_else: is unknown; known: name, display_name, description, /),
    ]);
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\nconstraints:\n  max_turn: 1\n' })).toEqual([
      'a.yaml:4:constraints.max_turn: is unknown (did you mean "max_turns"?)',
    ]);
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\nconstructor: 1\ntoString: 1\n' })).toHaveLength(2);
  });

  test('every value of the wrong type is told at once, each in its line', async () => {
    const text = `name: 7
description: [a]
model: { x: 1 }
tools: read_file
inherit_tools: 1
max_turns: "8"
max_llm_calls: 0
max_budget_usd: -1
timeout_mins: 0
grace_turn: "yes"
input_schema: 3
generation: { temperature: hot, top_p: 2, top_k: 1.5, max_output_tokens: -1, stop_sequences: [1] }
context_budget: { strategy: forget }
capabilities: none
include_history:
metadata: []
`;
    expect(await faults({ 'a.yaml': text })).toEqual([
      'a.yaml:1:name: must be a text, not 7; put it in quotes',
      'a.yaml:2:description: must be a text, not a list',
      'a.yaml:3:model: must be a text, not a map',
      'a.yaml:4:tools: must be a list of texts, not "read_file"',
      'a.yaml:5:inherit_tools: must be true or false, not 1',
      'a.yaml:6:max_turns: must be a whole number from 1, not "8"',
      'a.yaml:7:max_llm_calls: must be a whole number from 1, not 0',
      'a.yaml:8:max_budget_usd: must be a number from 0, not -1',
      'a.yaml:9:timeout_mins: must be a number above 0, not 0',
      'a.yaml:10:grace_turn: must be true or false, not "yes"',
      'a.yaml:11:input_schema: must be a JSON Schema or the path of one, not 3',
      'a.yaml:12:generation.temperature: must be a number from 0, not "hot"',
      'a.yaml:12:generation.top_p: must be a number from 0 to 1, not 2',
      'a.yaml:12:generation.top_k: must be a whole number from 0, not 1.5',
      'a.yaml:12:generation.max_output_tokens: must be a whole number from 1, not -1',
      'a.yaml:12:generation.stop_sequences[0]: must be a text, not 1',
      'a.yaml:13:context_budget.max_tokens: is missing',
      'a.yaml:13:context_budget.strategy: must be one of summarize, truncate, sliding_window, not "forget"',
      'a.yaml:14:capabilities: must be a list of texts, not "none"',
      'a.yaml:15:include_history: must be true or false, not nothing',
      'a.yaml:16:metadata: must be a map, not a list',
    ]);
  });

  test('a script for the scripted model that stands in an agent’s place is told by what it is, and what it is for', async () => {
    for (const [file, text] of [
      ['demo.script.yaml', 'byAgent:\n  a:\n    - text: hi\n'],
      ['snake.yaml', 'by_agent:\n  a: []\n'],
      ['list.yaml', '- text: hi\n- tool_calls: [{ name: look, args: {} }]\n'],
      ['list.json', '[{ "text": ["Hel", "lo"] }]'],
    ] as const) {
      const [first, ...more] = await faults({ [file]: text });
      expect(first).toMatch(new RegExp(`^${file}:1: is a script for the scripted model, .*--script.*"script"`));
      expect(more).toEqual([]);
    }
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\nby_agent: {}\n' })).toEqual([
      expect.stringContaining('a.yaml:3:by_agent: is unknown'),
    ]);
    expect(await faults({ 'a.yaml': '- name: a\n  description: A.\n' })).toEqual([
      'a.yaml:1: must hold keys with values, not a list',
    ]);
  });

  test('name and description may not be missing', async () => {
    expect(await faults({ 'a.agent.md': '---\nmodel: gemini/x\n---\nBe.\n' })).toEqual([
      'a.agent.md:2:name: is missing',
      'a.agent.md:2:description: is missing',
    ]);
    expect(await faults({ 'a.yaml': 'name: a\ndescription: "  "\n' })).toEqual(['a.yaml:2:description: is empty']);
  });

  test('a name that no agent can have is told where it stands', async () => {
    expect(await faults({ 'a.yaml': 'description: A.\nname: two words\n' })).toEqual([
      'a.yaml:2:name: "two words" is no agent name: a letter or _, then letters, digits, _ and -',
    ]);
  });

  test('instructions stand in one place', async () => {
    expect(await faults({ 'a.agent.md': agentFile('a', 'instruction: x\n') })).toEqual([
      'a.agent.md:4:instruction: stands twice: here and as the text below the front matter',
    ]);
  });

  test('what only the definition finds is told in the file too', async () => {
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\ntools:\n  - glob\n  - glob\n' })).toEqual([
      expect.stringMatching(/^a\.yaml:5:tools\[1\]: a second tool "glob"/),
    ]);
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\ninput_schema:\n  type: string\n' })).toEqual([
      expect.stringMatching(/^a\.yaml:3:input_schema: must describe an object/),
    ]);
  });

  test('a fault of a schema file is told in that file', async () => {
    expect(
      await faults({
        'a.yaml': 'name: a\ndescription: A.\noutput_schema: out.json\n',
        'out.json': '{\n  "type": "object",\n  "properties": {\n    "x": { "type": "strin" }\n  }\n}',
      }),
    ).toEqual([expect.stringMatching(/^out\.json:4:properties\.x\.type: /)]);
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\noutput_schema: none.json\n' })).toEqual([
      expect.stringMatching(/^a\.yaml:3:output_schema: ".*none\.json" does not exist$/),
    ]);
  });

  test('a script must exist', async () => {
    expect(await faults({ 'a.yaml': 'name: a\ndescription: A.\nscript: ./none.yaml\n' })).toEqual([
      'a.yaml:3:script: "./none.yaml" does not exist',
    ]);
  });
});

const child = (name: string) => `  - name: ${name}\n    description: ${name}.\n`;

describe('teams', () => {
  test('a pattern is needed, and one that there is', async () => {
    expect(await faults({ 't.yaml': `name: t\nchildren:\n${child('a')}` })).toEqual([
      't.yaml:1:pattern: is missing; one of sequential, parallel, loop, transfer, hierarchical, graph',
    ]);
    expect(await faults({ 't.yaml': `name: t\npattern: sequental\nchildren:\n${child('a')}` })).toEqual([
      't.yaml:2:pattern: must be one of sequential, parallel, loop, transfer, hierarchical, graph, not "sequental" (did you mean "sequential"?)',
    ]);
  });

  test('faults of children are told even when the pattern is wrong', async () => {
    expect(await faults({ 't.yaml': 'pattern: x\nchildren:\n  - name: a\n  - b.yaml\n  - 7\n' })).toEqual([
      't.yaml:1:pattern: must be one of sequential, parallel, loop, transfer, hierarchical, graph, not "x"',
      't.yaml:1:name: is missing',
      't.yaml:3:children[0].description: is missing',
      't.yaml:4:children[1]: "b.yaml" does not exist',
      't.yaml:5:children[2]: must be the path of an agent file or an agent itself, not 7',
    ]);
  });

  test('a key of another pattern says whose it is', async () => {
    expect(
      await faults({ 't.yaml': `name: t\npattern: sequential\nuntil: {}\nconcurrency: 2\nchildren:\n${child('a')}` }),
    ).toEqual([
      't.yaml:3:until: belongs to loop, not to sequential',
      't.yaml:4:concurrency: belongs to parallel and hierarchical, not to sequential',
    ]);
  });

  test('a loop needs its bound and an until that can be', async () => {
    const say = (until: string) =>
      faults({ 't.yaml': `name: t\npattern: loop\nmax_iterations: 2\nuntil: ${until}\nchildren:\n${child('a')}` });
    expect(await faults({ 't.yaml': `name: t\npattern: loop\nchildren:\n${child('a')}` })).toEqual([
      't.yaml:1:max_iterations: is missing: a loop needs a bound',
    ]);
    expect(await say('{ last: ok }')).toEqual(['t.yaml:4:until.equals: is missing']);
    expect(await say('{ last: ok, state: x, equals: 1 }')).toEqual([
      't.yaml:4:until: needs either state, the name of a state key, or last, a field of the last output',
    ]);
    expect(await say('{ state: done, equals: 1 }')).toEqual([
      't.yaml:4:until.state: no state key "done" is declared, by state or an output_key; declared: none',
    ]);
  });

  test('a state key that until asks for may be declared anywhere in the tree', async () => {
    const inner =
      '  - { name: l, pattern: loop, max_iterations: 2, until: { state: dne, equals: 1 }, children: [{ name: a, description: A. }] }\n';
    const text = (key: string) => `name: t\npattern: sequential\nstate: { ${key}: {} }\nchildren:\n${inner}`;
    expect(await faults({ 't.yaml': text('dne') })).toEqual([]);
    expect(await faults({ 't.yaml': text('done') })).toEqual([
      't.yaml:5:children[0].until.state: no state key "dne" is declared, by state or an output_key (did you mean "done"?)',
    ]);
  });

  test('names of members are checked with a suggestion, all of them at once', async () => {
    const text = `name: t
pattern: transfer
start: triag
targets:
  triage: [billin]
  nobody: []
supervise:
  children:
    bill: { restart: never }
members:
${child('triage')}${child('billing')}`;
    expect(await faults({ 't.yaml': text })).toEqual([
      't.yaml:3:start: "triag" is none of the members (did you mean "triage"?)',
      't.yaml:5:targets.triage[0]: "billin" is none of the members (did you mean "billing"?)',
      't.yaml:6:targets.nobody: "nobody" is none of the members; there are: triage, billing',
      't.yaml:9:supervise.children.bill: "bill" is none of the members (did you mean "billing"?)',
    ]);
  });

  test('children must be there', async () => {
    expect(await faults({ 't.yaml': 'name: t\npattern: sequential\nchildren: []\n' })).toEqual([
      't.yaml:3:children: is empty: a team needs at least one agent',
    ]);
    expect(await faults({ 't.yaml': 'name: t\npattern: parallel\n' })).toEqual([
      't.yaml:1:children: is missing: a team needs at least one agent',
    ]);
    expect(await faults({ 't.yaml': `name: t\npattern: hierarchical\nchildren:\n${child('a')}` })).toEqual([
      't.yaml:1:agent: is missing: the agent that leads',
    ]);
  });

  test('a child file that is missing is told at its place, with what it may have meant', async () => {
    expect(
      await faults({
        't.yaml':
          'name: t\npattern: sequential\nchildren:\n  - researcher\n  - ./writr.agent.md\n  - ./none.agent.md\n',
        'researcher.agent.md': agentFile('researcher'),
        'writer.agent.md': agentFile('writer'),
      }),
    ).toEqual([
      't.yaml:4:children[0]: "researcher" is no agent file: .md, .yaml, .yml, .json, .ts, .mts, .js and .mjs are (did you mean "researcher.agent.md"?)',
      't.yaml:5:children[1]: "./writr.agent.md" does not exist (did you mean "writer.agent.md"?)',
      't.yaml:6:children[2]: "./none.agent.md" does not exist',
    ]);
  });

  test('problems of all files come together', async () => {
    expect(
      await faults({
        't.yaml': 'name: t\npattern: sequential\nextra: 1\nchildren: [a.agent.md, b.agent.md]\n',
        'a.agent.md': '---\nname: a\ndescription: A.\nmax_turns: many\n---\n',
        'b.agent.md': '---\nname: b b\ndescription: B.\n---\n',
      }),
    ).toEqual([
      expect.stringMatching(/^t\.yaml:3:extra: is unknown/),
      'a.agent.md:4:max_turns: must be a whole number from 1, not "many"',
      'b.agent.md:2:name: "b b" is no agent name: a letter or _, then letters, digits, _ and -',
    ]);
  });

  test('files that contain each other are told with the whole circle', async () => {
    expect(
      await faults({
        'a.team.yaml': 'name: a\npattern: sequential\nchildren:\n  - sub/b.team.yaml\n',
        'sub/b.team.yaml': 'name: b\npattern: sequential\nchildren:\n  - ../a.team.yaml\n',
      }),
    ).toEqual([
      'sub/b.team.yaml:4:children[0]: "../a.team.yaml" contains itself: a.team.yaml → sub/b.team.yaml → a.team.yaml',
    ]);
  });

  test('a circle through a link is found', async () => {
    const folder = await agentFolder({ 'a.team.yaml': 'name: a\npattern: sequential\nchildren: [link.yaml]\n' });
    await symlink('a.team.yaml', join(folder, 'link.yaml'));
    expect(await faultsOf(folder, loadAgentFile(join(folder, 'a.team.yaml')))).toEqual([
      expect.stringMatching(/^a\.team\.yaml:3:children\[0\]: "link\.yaml" contains itself: /),
    ]);
  });

  test('two agents of one name are told with both places', async () => {
    expect(
      await faults({
        't.team.yaml': 'name: t\npattern: sequential\nchildren: [a.agent.md, sub/b.agent.md]\n',
        'a.agent.md': agentFile('writer'),
        'sub/b.agent.md': agentFile('writer'),
      }),
    ).toEqual([
      'sub/b.agent.md:2:name: the name "writer" is taken: it stands at a.agent.md:2:name; names are unique in a tree',
    ]);
    expect(
      await faults({
        't.yaml': `name: t\npattern: parallel\nchildren:\n${child('my-agent')}${child('My_Agent')}${child('t')}`,
      }),
    ).toEqual([
      't.yaml:6:children[1].name: the name "My_Agent" is taken: "my-agent" stands at t.yaml:4:children[0].name; names are unique in a tree',
      't.yaml:8:children[2].name: the name "t" is taken: it stands at t.yaml:1:name; names are unique in a tree',
    ]);
  });

  test('files that name each other in ever more ways end somewhere', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 12 }, (_, at) => [
        `f${at}.yaml`,
        at === 11
          ? agentYaml('end')
          : `name: f${at}\npattern: sequential\nchildren: [f${at + 1}.yaml, f${at + 1}.yaml]\n`,
      ]),
    );
    expect(await faults(files)).toContainEqual(expect.stringMatching(/is one file too many: a team is at most 500$/));
  });

  test('a tree deeper than it may be is told', async () => {
    const said = await faults({
      't.yaml':
        'name: t\npattern: sequential\nmax_depth: 1\nchildren:\n  - name: u\n    pattern: sequential\n    children:\n      - { name: a, description: A. }\n',
    });
    expect(said).toEqual([
      expect.stringMatching(/^t\.yaml:8:children\[0\]\.children\[0\]\.name: lies deeper than maxDepth/),
    ]);
  });

  test('a team has no text of its own', async () => {
    expect(
      await faults({
        't.md': '---\nname: t\npattern: sequential\nchildren:\n  - name: a\n    description: A.\n---\n\nDo it.\n',
      }),
    ).toEqual(['t.md:9: a team has no text of its own; give instructions to its agents']);
  });
});

const agentYaml = (name: string) => `name: ${name}\ndescription: ${name}.\n`;
