import { describe, expect, test } from 'vitest';
import { type Dialect, dialectOf } from '../../../src/define/files/dialect.js';
import { faults, load } from './agent-folder.js';

const reviewer = `---
name: code-reviewer
description: Reviews changes for faults. Use proactively after code was written.
tools: Read, Grep, Glob, Bash
model: sonnet
permissionMode: acceptEdits
maxTurns: 12
color: green
---

You review code.

1. Look at what changed.
2. Say what is wrong.
`;

const auditor = `---
name: security-auditor
display_name: Security auditor
description: Finds weak spots in code.
kind: local
tools:
  - read_file
  - grep_search
  - mcp_scanner_*
model: gemini-3-flash-preview
temperature: 0.2
max_turns: 10
timeout_mins: 5
---
You look for weak spots.
`;

describe('a Claude Code file', () => {
  test('loads as it is', async () => {
    const { definition, notices } = await load({ '.claude/agents/code-reviewer.md': reviewer });
    expect(definition).toMatchObject({
      name: 'code-reviewer',
      model: 'sonnet',
      tools: ['read_file', 'search_text', 'glob', 'run_shell_command'],
      instruction: 'You review code.\n\n1. Look at what changed.\n2. Say what is wrong.',
      descriptor: {
        constraints: { maxTurns: 12 },
        metadata: { origin: 'claude-code', permissionMode: 'auto_edit', color: 'green', filePath: 'code-reviewer.md' },
      },
    });
    expect([definition.inheritTools, notices]).toEqual([undefined, []]);
  });

  test('is known by its keys wherever it stands', async () => {
    const { definition } = await load({ 'reviewer.md': reviewer });
    expect(definition.descriptor.metadata).toMatchObject({ origin: 'claude-code' });
  });

  test('without tools has those of its parent, without a model or with inherit the model of its parent', async () => {
    for (const model of ['', 'model: inherit\n', 'model:\n']) {
      const { definition } = await load({
        'helper.md': `---\nname: helper\ndescription: Helps.\n${model}---\nHelp.\n`,
      });
      expect([definition.inheritTools, definition.tools, definition.model]).toEqual([true, [], undefined]);
    }
  });

  test.each([
    ['default', 'default'],
    ['acceptEdits', 'auto_edit'],
    ['plan', 'plan'],
    ['dontAsk', 'dont_ask'],
    ['bypassPermissions', 'autonomous'],
  ])('its mode %s is %s', async (theirs, ours) => {
    const { definition, notices } = await load({
      'a.md': `---\nname: a\ndescription: A.\npermissionMode: ${theirs}\n---\nBe.\n`,
    });
    expect([definition.descriptor.metadata?.permissionMode, notices]).toEqual([ours, []]);
  });

  test('with a mode or a model that nobody knows says how it was read', async () => {
    const { definition, notices, folder } = await load({
      'a.md': '---\nname: a\ndescription: A.\npermissionMode: wild\nmodel: claude-x-9\n---\nBe.\n',
    });
    expect(definition.descriptor.metadata?.permissionMode).toBe('default');
    expect(definition.model).toBe('claude-x-9');
    expect(notices.map((notice) => notice.replace(`${folder}/`, ''))).toEqual([
      'a.md:5:model: "claude-x-9" is kept as an alias; the host must know it',
      'a.md:4:permissionMode: "wild" is not known and is read as default',
    ]);
  });

  test('with keys that have no counterpart loads, with a notice for each', async () => {
    const { notices, folder } = await load({
      'a.md': '---\nname: a\ndescription: A.\nmemory: project\nskills: [one]\nsomething: new\n---\nBe.\n',
    });
    expect(notices.map((notice) => notice.replace(`${folder}/`, ''))).toEqual([
      'a.md:4:memory: has no counterpart here and is not used',
      'a.md:6:something: has no counterpart here and is not used',
      'a.md:5:skills: "one" is left out: there is no skill of that name',
    ]);
  });

  test('never gets more than it names: restricted tools and sub-agents are left out', async () => {
    const { definition, notices } = await load({
      'a.md':
        '---\nname: a\ndescription: A.\ntools: Read, Bash(git add *, git commit), Agent(worker), Task, mcp__git__log\n---\nBe.\n',
    });
    expect(definition.tools).toEqual(['read_file', 'mcp_git_log']);
    expect(notices.map((notice) => notice.replace(/^.*:tools: /, ''))).toEqual([
      '"Bash(git add *, git commit)" is left out: allow it for these arguments by a policy rule',
      '"Agent(worker)" is left out: sub-agents are the children of a team',
      '"Task" is left out: sub-agents are the children of a team',
    ]);
  });

  test('is kept to the tools that the host has', async () => {
    const { definition, notices } = await load(
      { 'r.md': reviewer },
      { hostTools: ['read_file', 'glob', 'search_text'] },
    );
    expect(definition.tools).toEqual(['read_file', 'search_text', 'glob']);
    expect(notices).toEqual([expect.stringMatching(/r\.md:4:tools: "Bash" is left out: the host has no such tool$/)]);
  });

  test('with disallowedTools has the others, and none where the others are not known', async () => {
    const text = (more: string) => `---\nname: a\ndescription: A.\ndisallowedTools: Write, Bash\n${more}---\nBe.\n`;
    expect((await load({ 'a.md': text('tools: Read, Bash\n') })).definition.tools).toEqual(['read_file']);
    const known = await load({ 'a.md': text('') }, { hostTools: ['glob', 'run_shell_command', 'write_file'] });
    expect([known.definition.tools, known.definition.inheritTools]).toEqual([['glob'], undefined]);
    const unknown = await load({ 'a.md': text('') });
    expect([unknown.definition.tools, unknown.definition.inheritTools]).toEqual([[], undefined]);
    expect(unknown.notices).toEqual([expect.stringMatching(/disallowedTools: the agent gets no tools/)]);
  });

  test('whose description is no YAML is read as it is meant, and says so', async () => {
    const description = 'Use it when: code was written. Example: user: "review # this"';
    const { definition, notices } = await load({
      'a.md': `---\nname: a\ndescription: ${description}\ntools: Read\n---\nBe.\n`,
    });
    expect(definition.descriptor.description).toBe(description);
    expect(notices).toEqual([expect.stringMatching(/a\.md:2: the front matter is no YAML as it stands/)]);
  });

  test('may be the child of a team', async () => {
    const { definition } = await load({
      't.team.yaml': 'name: t\npattern: sequential\nchildren: [.claude/agents/r.md, .gemini/agents/a.md]\n',
      '.claude/agents/r.md': reviewer,
      '.gemini/agents/a.md': auditor,
    });
    expect(definition.children?.map(({ name, descriptor }) => [name, descriptor.metadata?.origin])).toEqual([
      ['code-reviewer', 'claude-code'],
      ['security-auditor', 'gemini-cli'],
    ]);
  });

  test('with a value of the wrong type is refused like any other', async () => {
    expect(await faults({ 'a.md': '---\nname: a\ncolor: red\nmaxTurns: many\n---\nBe.\n' })).toEqual([
      'a.md:2:description: is missing',
      'a.md:4:maxTurns: must be a whole number from 1, not "many"',
    ]);
  });
});

describe('a Gemini CLI file', () => {
  test('loads as it is', async () => {
    const { definition, notices } = await load({ '.gemini/agents/security-auditor.md': auditor });
    expect(definition).toMatchObject({
      name: 'security-auditor',
      model: 'gemini/gemini-3-flash-preview',
      tools: ['read_file', 'search_text', 'mcp_scanner_*'],
      generation: { temperature: 0.2 },
      instruction: 'You look for weak spots.',
      descriptor: {
        displayName: 'Security auditor',
        constraints: { maxTurns: 10, maxTimeMinutes: 5 },
        requiredTools: ['read_file', 'search_text'],
        metadata: { origin: 'gemini-cli' },
      },
    });
    expect(notices).toEqual([]);
  });

  test('with * has all tools of its parent', async () => {
    const { definition } = await load({
      'a.md': '---\nname: a\ndescription: A.\nkind: local\ntools: ["*"]\n---\nBe.\n',
    });
    expect([definition.inheritTools, definition.tools]).toEqual([true, []]);
  });

  test('of kind remote is reached by its card', async () => {
    const { definition } = await load({
      'a.md':
        '---\nkind: remote\nname: far\nagent_card_url: https://example.com/card\nauth: { type: apiKey, key: $KEY }\n---\n',
    });
    expect(definition).toMatchObject({
      name: 'far',
      backend: { cardUrl: 'https://example.com/card', auth: { type: 'apiKey', key: '$KEY' } },
      descriptor: { executor: 'remote', description: 'far' },
    });
    expect(definition.inheritTools).toBeUndefined();
    const inline = await load({ 'a.md': '---\nkind: remote\nname: far\nagent_card_json: \'{"name":"x"}\'\n---\n' });
    expect(inline.definition.backend).toEqual({ card: { name: 'x' } });
    expect(await faults({ 'a.md': '---\nkind: remote\nname: far\n---\n' })).toEqual([
      'a.md:2:agent_card_url: is missing: a remote agent needs its card',
    ]);
    expect(await faults({ 'a.md': "---\nkind: remote\nname: far\nagent_card_json: '{'\n---\n" })).toEqual([
      'a.md:4:agent_card_json: is no JSON',
    ]);
  });

  test('that holds a list of agents is refused', async () => {
    expect(await faults({ 'a.md': '---\n- kind: remote\n  name: a\n---\n' })).toEqual([
      'a.md:2: must hold keys with values, not a list',
    ]);
  });
});

test.each<[string, string[], unknown, unknown, Dialect]>([
  ['a.agent.md', ['name', 'description'], undefined, undefined, 'troupe'],
  ['a.agent.md', ['name', 'description', 'color'], undefined, undefined, 'claude-code'],
  ['a.agent.md', ['name', 'temperature'], undefined, undefined, 'gemini-cli'],
  ['a.md', ['name', 'description'], undefined, undefined, 'claude-code'],
  ['a.md', ['name', 'description', 'model'], 'gemini/x', undefined, 'troupe'],
  ['a.md', ['name', 'description', 'model'], 'gemini-3', undefined, 'gemini-cli'],
  ['a.md', ['name', 'description', 'model'], 'opus', undefined, 'claude-code'],
  ['a.md', ['name', 'description', 'tools'], undefined, 'Read, Grep', 'claude-code'],
  ['a.md', ['name', 'description', 'max_turns'], undefined, undefined, 'gemini-cli'],
  ['a.md', ['name', 'description', 'output_key'], undefined, undefined, 'troupe'],
  ['a.md', ['name', 'description', 'modle'], undefined, undefined, 'troupe'],
  ['.claude/agents/a.md', ['name', 'pattern'], undefined, undefined, 'troupe'],
  ['x/.gemini/agents/a.md', ['name', 'description'], undefined, undefined, 'gemini-cli'],
  ['x/.claude/agents/sub/a.md', ['name', 'temperature'], undefined, undefined, 'claude-code'],
])('%s with the keys %j, the model %j and the tools %j is of %5$s', (path, keys, model, tools, dialect) => {
  expect(dialectOf({ path, keys, model, tools })).toBe(dialect);
});

test('a misspelt key in a file of ours is a problem, with other keys of ours beside it or in a file named .agent.md', async () => {
  expect(await faults({ 'a.agent.md': '---\nname: a\ndescription: A.\nmodle: x\n---\nBe.\n' })).toEqual([
    'a.agent.md:4:modle: is unknown (did you mean "model"?)',
  ]);
});

test('front matter of ours that is no YAML is a problem, however it may be meant', async () => {
  expect(await faults({ 'a.agent.md': '---\nname: a\ndescription: Use it when: code\n---\nBe.\n' })).toEqual([
    expect.stringMatching(/^a\.agent\.md:3: is no YAML: /),
  ]);
});
