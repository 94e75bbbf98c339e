import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadAgentFile } from '../../../src/define/files/load.js';
import * as troupe from '../../../src/index.js';
import * as workspace from '../../../src/tools/workspace.js';
import { agentFile, agentFolder, faults, faultsOf, load } from './agent-folder.js';

const code = `import { agent, tool } from 'troupe';
import { workspaceTools } from 'troupe/tools/workspace';
import type { ToolContext } from 'troupe/contracts';

const add = tool({
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object', properties: { a: { type: 'number' } } },
  execute: async (args: object, context: ToolContext) => Object.keys(args).length,
});
export default agent({ name: 'adder', description: 'Adds.', tools: [add, ...workspaceTools({ root: '.' })] });
`;

describe('a code file that the user names', () => {
  test.each(['a.ts', 'a.mts'])('%s gives its default export, marked with file and hash', async (name) => {
    const { definition, files, folder } = await load({ [name]: code });
    expect(definition.name).toBe('adder');
    expect(definition.tools.map((tool) => (typeof tool === 'string' ? tool : tool.name))).toEqual([
      'add',
      'read_file',
      'list_directory',
      'glob',
      'search_text',
      'write_file',
      'replace',
      'run_shell_command',
    ]);
    expect(definition.descriptor.metadata).toEqual({ filePath: name, hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(files).toEqual([join(folder, name)]);
  });

  test.each(['a.js', 'a.mjs'])('%s may be plain JavaScript', async (name) => {
    const { definition } = await load({
      [name]: "import { agent } from 'troupe';\nexport default agent({ name: 'js', description: 'J.' });\n",
    });
    expect(definition.name).toBe('js');
  });

  test('gets the very package that loads it, not a copy', async () => {
    const seen = globalThis as { seenByTest?: Record<string, unknown> };
    await load({
      'a.ts': `import * as troupe from 'troupe';
import * as workspace from 'troupe/tools/workspace';
(globalThis as any).seenByTest = { agent: troupe.agent, workspaceTools: workspace.workspaceTools };
export default troupe.agent({ name: 'a', description: 'A.' });`,
    });
    expect(seen.seenByTest?.agent).toBe(troupe.agent);
    expect(seen.seenByTest?.workspaceTools).toBe(workspace.workspaceTools);
    delete seen.seenByTest;
  });

  test('may import its neighbours, which are read anew each time', async () => {
    const folder = await agentFolder({
      'a.ts':
        "import { agent } from 'troupe';\nimport { name } from './name.js';\nexport default agent({ name, description: 'A.' });",
      'name.ts': "export const name: string = 'first';",
    });
    expect((await loadAgentFile(join(folder, 'a.ts'))).definition.name).toBe('first');
    const { writeFile } = await import('node:fs/promises');
    await writeFile(join(folder, 'name.ts'), "export const name = 'second';");
    expect((await loadAgentFile(join(folder, 'a.ts'))).definition.name).toBe('second');
  });

  test('may be a whole team, and is checked like one', async () => {
    const { definition } = await load({
      'a.ts': `import { agent, sequential } from 'troupe';
export default sequential({ name: 't', children: [agent({ name: 'a', description: 'A.' })] });`,
    });
    expect(definition.children?.[0]?.name).toBe('a');
    expect(
      await faults({
        'a.mjs': "export default { kind: 'agent', name: 'x y', descriptor: { name: 'x y' }, tools: [] };",
      }),
    ).toContainEqual(expect.stringMatching(/^a\.mjs:1:x y\.name: "x y" is no agent name/));
  });

  test('without a definition as its default export is refused', async () => {
    expect(await faults({ 'a.ts': 'export const a = 1;' })).toEqual([
      'a.ts:1: it has no default export; write: export default agent({ … }) or a team',
    ]);
    expect(await faults({ 'a.ts': 'export default () => 1;' })).toEqual([
      'a.ts:1: its default export is no agent; write: export default agent({ … }) or a team',
    ]);
  });

  test('that throws or cannot be read says so', async () => {
    expect(await faults({ 'a.ts': "throw new Error('no luck');" })).toEqual(['a.ts:1: could not be run: no luck']);
    expect(await faults({ 'a.ts': 'const a = 1;\n\nconst b: = 2;\n' })).toEqual([
      expect.stringMatching(/^a\.ts:3: could not be run: .*\S$/),
    ]);
    const wrong = "import { agent } from 'troupe';\nexport default agent({\n  nam: 'a' } as never);\n";
    expect(await faults({ 'a.ts': wrong })).toEqual([expect.stringMatching(/^a\.ts:2: could not be run: /)]);
    expect(await faults({ 'a.ts': "import 'troupe/none';" })).toEqual([
      expect.stringMatching(/could not be run: .*troupe\/none/),
    ]);
    const folder = await agentFolder({});
    expect(await faultsOf(folder, loadAgentFile(join(folder, 'a.ts')))).toEqual(['a.ts: does not exist']);
  });

  test('runs nothing when code is not allowed', async () => {
    const seen = globalThis as { ranByTest?: boolean };
    const files = { 'a.ts': '(globalThis as any).ranByTest = true; export default 1;' };
    expect(await faults(files, { allowCode: false })).toEqual([
      'a.ts: is code, which is run only when you name it or allow it (allowCode)',
    ]);
    expect(seen.ranByTest).toBeUndefined();
  });
});

describe('a code file that a file names', () => {
  const files = {
    't.team.yaml': 'name: t\npattern: sequential\nchildren: [a.agent.md, b.ts]\n',
    'a.agent.md': agentFile('a'),
    'b.ts':
      "import { agent } from 'troupe';\n(globalThis as any).ranByTest = true;\nexport default agent({ name: 'b', description: 'B.' });\n",
  };

  test('is not run unless that is allowed', async () => {
    const seen = globalThis as { ranByTest?: boolean };
    for (const options of [{}, { allowCode: false }]) {
      expect(await faults(files, options)).toEqual([
        't.team.yaml:3:children[1]: "b.ts" is code, which is run only when you name it or allow it (allowCode)',
      ]);
    }
    expect(seen.ranByTest).toBeUndefined();
    const { definition } = await load(files, { allowCode: true });
    expect(definition.children?.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(seen.ranByTest).toBe(true);
    delete seen.ranByTest;
  });

  test('takes part in the check of names', async () => {
    expect(await faults({ ...files, 'a.agent.md': agentFile('b') }, { allowCode: true })).toEqual([
      expect.stringMatching(/^b\.ts \(b\): the name "b" is taken: it stands at a\.agent\.md:2:name/),
    ]);
    delete (globalThis as { ranByTest?: boolean }).ranByTest;
  });
});
