import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadAgentFile } from '../../../src/define/files/load.js';
import { readSkill } from '../../../src/define/skills/read-skill.js';
import { skillText } from '../../support/skill-folders.js';
import { agentFile, agentFolder, faults, faultsOf, load } from './agent-folder.js';

const skill = (front: string, body = 'Do it.') => `---\n${front}\n---\n${body}\n`;
const read = async (text: string | Uint8Array, name = 'pdf') => {
  const folder = await agentFolder({ [`${name}/SKILL.md`]: text });
  return readSkill(join(folder, name), name);
};
const said = async (...given: Parameters<typeof read>) => {
  const reading = await read(...given);
  return 'skill' in reading ? [] : reading.problems.map(({ path, message }) => `${path}: ${message}`);
};

test('skills of a file are folders beside it, by path, or by a name in skills/', async () => {
  const { definition, folder, notices } = await load({
    'agents/a.agent.md': agentFile('a', 'skills: [../skills/pdf, ./near, mail, chart]\n'),
    'skills/pdf/SKILL.md': skillText('pdf'),
    'skills/chart/SKILL.md': skillText('chart'),
    'agents/near/SKILL.md': skillText('near'),
    'agents/skills/mail/SKILL.md': skillText('mail'),
  });
  const folders = ['skills/pdf', 'agents/near', 'agents/skills/mail', 'skills/chart'];
  expect(definition.skills).toEqual(folders.map((name) => join(folder, name)));
  expect(definition.inheritTools).toBeUndefined();
  expect(notices).toEqual([]);
});

test('an agent inside a team file has them too, and Claude Code writes them by name, also in a text', async () => {
  const { definition } = await load({
    'team.yaml': `name: team\npattern: sequential\nchildren:\n  - name: a\n    description: A.\n    skills: [pdf]\n  - .claude/agents/b.md\n`,
    'skills/pdf/SKILL.md': skillText('pdf'),
    '.claude/agents/b.md': '---\nname: b\ndescription: B.\nskills: mail, chart, gone\n---\nBe b.\n',
    '.claude/skills/mail/SKILL.md': skillText('mail'),
    '.claude/skills/chart/SKILL.md': skillText('chart'),
  });
  const names = definition.children?.map(({ skills = [] }) =>
    skills.map((path) => path.split('/').slice(-3).join('/')),
  );
  expect(names?.map((list) => list.map((name) => name.replace(/^[^/]*-files-[^/]*\//, '')))).toEqual([
    ['skills/pdf'],
    ['.claude/skills/mail', '.claude/skills/chart'],
  ]);
});

test('the tool of skills may be named in files of other programs, and taken away', async () => {
  const front = (more: string) => `---\nname: b\ndescription: B.\nskills: mail\n${more}---\nBe b.\n`;
  const files = (more: string) => ({
    '.claude/agents/b.md': front(more),
    '.claude/skills/mail/SKILL.md': skillText('mail'),
  });
  const named = await load(files('tools: Read, Skill\n'), { hostTools: ['read_file'] });
  expect(named.definition).toMatchObject({ tools: ['read_file'], skills: [expect.stringContaining('mail')] });
  expect(named.notices).toEqual([]);
  const denied = await load(files('disallowedTools: Skill\n'), { hostTools: ['read_file'] });
  expect(denied.definition.skills).toBeUndefined();
  expect(denied.definition.inheritTools).toBe(true);
});

test('what is wrong is told with file, line and key: in the file that names it, and in SKILL.md', async () => {
  expect(
    await faults({
      'a.agent.md': agentFile('a', 'skills:\n  - ./gone\n  - ./pdf\n  - 7\n  - ""\n  - x/same\n  - y/same\n'),
      'pdf/SKILL.md': skill('name: PDF\nlicense: MIT'),
      'x/same/SKILL.md': skillText('same'),
      'y/same/SKILL.md': skillText('same'),
    }),
  ).toEqual([
    'a.agent.md:5:skills[0]: "./gone" has no SKILL.md',
    'a.agent.md:7:skills[2]: must be the path of a folder, not 7',
    'a.agent.md:8:skills[3]: must be the path of a folder, not ""',
    expect.stringMatching(/^a\.agent\.md:\d+:skills\[\d\]: two skills are named "same"/),
    'pdf/SKILL.md:2:name: "PDF" is no name of a skill: lower-case letters, digits and single hyphens',
    'pdf/SKILL.md:2:description: is missing',
  ]);
});

test('all that the form of skills has is read; what else stands there is left alone', async () => {
  const front = `name: pdf
description: "Fills forms: all of them."
license: Apache-2.0
compatibility: Needs a shell
metadata: { author: ann, version: 1.2 }
allowed-tools: Read Bash(git add *) Write
hooks: { before: rm }
model: opus`;
  expect(await read(skill(front))).toMatchObject({
    skill: {
      name: 'pdf',
      description: 'Fills forms: all of them.',
      license: 'Apache-2.0',
      compatibility: 'Needs a shell',
      metadata: { author: 'ann', version: '1.2' },
      allowedTools: ['Read', 'Bash(git add *)', 'Write'],
      body: 'Do it.',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  });
  expect(await read(skill('name: pdf\ndescription: Use it when: always # really'))).toMatchObject({
    skill: { description: 'Use it when: always # really' },
  });
});

const wrong: readonly (readonly [string | Uint8Array, string])[] = [
  ['', 'pdf/SKILL.md:1: has no front matter'],
  ['---\nname: pdf\n', 'not closed'],
  [skill('- a'), 'must hold keys with values, not a list'],
  [skill('name: pdf\ndescription: x\n__proto__: { a: 1 }'), 'pdf/SKILL.md:4:__proto__: is no key that is allowed'],
  [skill('name: pdf\ndescription: x\nmetadata: { __proto__: y }'), '__proto__: is no key that is allowed'],
  [skill('name: pdf\ndescription: x\nmetadata: { a: [1] }'), 'pdf/SKILL.md:4:metadata.a: must be a text'],
  [skill('name: "pd\\u0007f"\ndescription: x'), 'name: "pd\\u0007f" is no name of a skill'],
  [skill('name: pdf--x\ndescription: x'), 'is no name of a skill'],
  [skill('name: -pdf\ndescription: x'), 'is no name of a skill'],
  [skill(`name: ${'a'.repeat(65)}\ndescription: x`), 'is 65 characters long; at most 64'],
  [skill('name: other\ndescription: x'), 'is "other", but the folder is named "pdf"; give both one name'],
  [skill('name: 7\ndescription: x'), 'name: must be a text, not 7; put it in quotes'],
  [skill('name: pdf\ndescription: " "'), 'description: is empty'],
  [skill(`name: pdf\ndescription: ${'ä'.repeat(1_025)}`), 'description: is 1025 characters long; at most 1024'],
  [skill(`name: pdf\ndescription: x\ncompatibility: ${'a'.repeat(501)}`), 'is 501 characters long; at most 500'],
  [skill('name: pdf\ndescription: x', 'y'.repeat(257 * 1_024)), 'pdf/SKILL.md: is larger than 256 KB'],
  [new Uint8Array([0xff, 0xfe, 0x00]), 'pdf/SKILL.md: is not UTF-8 text'],
  [skill('name: pdf\ndescription: !!js/function "x"'), 'pdf/SKILL.md:3: the tag'],
];

test.each(wrong.map(([text, message], at) => [at, text, message] as const))(
  'SKILL.md %i: it is said what is wrong',
  async (_, text, message) => {
    expect((await said(text)).join('\n')).toContain(message);
  },
);

test('a SKILL.md that is a link out of its folder is not read, nor one that is a folder', async () => {
  const folder = await agentFolder({
    'secret.md': skillText('pdf'),
    'pdf/in.md': skillText('pdf'),
    'x/SKILL.md/y': '',
  });
  await symlink(join(folder, 'secret.md'), join(folder, 'pdf', 'SKILL.md'));
  expect(await readSkill(join(folder, 'pdf'))).toMatchObject({
    problems: [{ message: 'does not lie in the folder of the skill' }],
  });
  expect(await readSkill(join(folder, 'x'))).toMatchObject({ problems: [{ message: 'is a folder' }] });
  const load = loadAgentFile(join(await agentFolder({ 'a.agent.md': agentFile('a', 'skills: [x]\n') }), 'a.agent.md'));
  expect(await faultsOf(folder, load)).toEqual([expect.stringContaining('"x" has no SKILL.md')]);
});
