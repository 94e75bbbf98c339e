import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { listAgentFiles } from '../../../src/define/files/find.js';
import { agentFile, agentFolder } from './agent-folder.js';

test('agent files of a folder are listed by name; other files, code and folders below are not looked at', async () => {
  const folder = await agentFolder({
    'researcher.agent.md': agentFile('researcher'),
    'report.team.yaml': 'name: report\npattern: sequential\nchildren: []\n',
    'other.team.json': '{ "name": "other", "description": "O." }',
    'claude.md': '---\nname: helper\ndescription: Helps.\ntools: Read\n---\nHelp.\n',
    'README.md': '# Nothing\n',
    'notes.md': '---\ntitle: Notes\n---\n',
    'broken.agent.md': '---\nname: [\n---\n',
    'config.yaml': 'name: x\ndescription: y\n',
    'team.ts': 'throw new Error("never run")',
    'sub/deep.agent.md': agentFile('deep'),
  });
  const found = await listAgentFiles(folder);
  expect(
    found.map(({ path, name, description, dialect }) => [relative(folder, path), name, description, dialect]),
  ).toEqual([
    ['broken.agent.md', undefined, undefined, 'troupe'],
    ['claude.md', 'helper', 'Helps.', 'claude-code'],
    ['other.team.json', 'other', 'O.', 'troupe'],
    ['report.team.yaml', 'report', undefined, 'troupe'],
    ['researcher.agent.md', 'researcher', 'Does researcher.', 'troupe'],
  ]);
  expect(found[0]?.problems[0]?.message).toMatch(/^is no YAML/);
});

test('a folder that is not there has no agent files', async () => {
  expect(await listAgentFiles(`${await agentFolder({})}/none`)).toEqual([]);
});
