import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadAgentFile } from '../../../src/define/files/load.js';
import { parseJson, parseYaml } from '../../../src/define/files/parse.js';
import { toPlain } from '../../../src/define/files/raw.js';
import { fc } from '../../support/fast-check.js';
import { asOrdinaryUser } from '../../tools/workspace-folder.js';
import { agentFile, agentFolder, faults, faultsOf } from './agent-folder.js';

/** Pieces that mean something in YAML, in front matter or to us. */
const piece = fc.constantFrom(
  'name',
  'description',
  'pattern',
  'children',
  'tools',
  'until',
  'state',
  'constraints',
  'model',
  '__proto__',
  'toString',
  ': ',
  ':',
  ' ',
  '  ',
  '\n',
  '\n  ',
  '\n- ',
  '- ',
  ', ',
  '[',
  ']',
  '{',
  '}',
  '"',
  "'",
  '|',
  '>',
  '&a ',
  '*a',
  '!!str ',
  '!x ',
  '? ',
  '<<',
  '#',
  '---\n',
  '\t',
  'sequential',
  'loop',
  'a',
  '1',
  'null',
  '~',
  '.nan',
  'true',
  '\ufeff',
  '\u0000',
  '\ud83d',
  '😀',
  '\r\n',
  '\\',
);

test('whatever a file holds, loading it ends with a definition or with problems', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('a.yaml', 'a.json', 'a.md', 'a.agent.md'),
      fc.array(piece, { maxLength: 40 }),
      async (name, pieces) => {
        const text = name.endsWith('.md') ? `---\n${pieces.join('')}\n---\nBe.\n` : pieces.join('');
        for (const said of await faults({ [name]: text })) expect(said).toMatch(/^a\.\S+?:/);
      },
    ),
    { numRuns: 400 },
  );
});

test('any JSON value is read as what it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 2, '\t'), async (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      fc.pre(!text.includes('"__proto__"') && !text.includes('"":'));
      const { root, problems } = await parseJson('a.json', text);
      expect(problems).toEqual([]);
      expect(root && toPlain(root)).toEqual(JSON.parse(text));
    }),
    { numRuns: 300 },
  );
});

test.each(['- ', '? ', '- ? ', '&a ', '!!str ', '! ', '*a ', '"', ': ', '%a\n', 'a: &a\n- '])(
  'a file made of nothing but %j is refused, not a crash',
  async (text) => {
    const { problems } = await parseYaml('a.yaml', text.repeat(30_000));
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThanOrEqual(20);
  },
);

test('a file that may not be read says so', async () => {
  const folder = await agentFolder({ 'a.agent.md': agentFile('a') });
  await chmod(folder, 0o755);
  await chmod(join(folder, 'a.agent.md'), 0);
  const said = await asOrdinaryUser(() => faultsOf(folder, loadAgentFile(join(folder, 'a.agent.md'))));
  expect(said).toEqual(['a.agent.md: cannot be read: permission denied']);
});
