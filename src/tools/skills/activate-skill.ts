import type { Skill, ToolContext, ToolDefinition, ToolResultData } from '../../contracts/index.js';
import { quoted, refused, WorkspaceRefusal } from '../workspace/refusal.js';
import { describedAs, descriptorOf } from '../workspace/tool-text.js';
import { listInside, readTextInside } from './skill-files.js';

interface Args {
  name: string;
  file?: string;
}

/**
 * What gives an agent the text of its skills, and the files that lie beside it. It reads, within the folder of a skill,
 * and changes nothing. Where the folders are not `trusted` it is not declared as read-only: then policy has it asked about.
 */
export function activateSkillTool(skills: readonly Skill[], { trusted }: { trusted: boolean }): ToolDefinition {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  const text = {
    name: 'activate_skill',
    displayName: 'Activate skill',
    description:
      'Gives the instructions of a skill and the names of its files. With `file` it gives one of these files instead.',
    properties: {
      name: { type: 'string', enum: [...byName.keys()], description: 'The skill.' },
      file: { type: 'string', minLength: 1, description: 'A file of the skill, relative to its folder.' },
    },
    required: ['name'],
  };
  return {
    kind: 'tool',
    name: text.name,
    descriptor: descriptorOf(text, { readOnly: trusted, idempotent: true, category: 'read' }),
    describe: ({ name, file }: Args) => {
      const what = file === undefined ? `Skill ${name}` : `${file} of the skill ${name}`;
      return describedAs({ title: trusted ? what : `${what}, from a folder that is not trusted` });
    },
    async execute({ name, file }: Args, { signal }: Pick<ToolContext, 'signal'>): Promise<ToolResultData> {
      try {
        signal.throwIfAborted();
        const skill = byName.get(name);
        if (skill === undefined) return refused('invalid_tool_params', `There is no skill ${quoted(name)}.`);
        return file === undefined ? await instructionsOf(skill) : await fileOf(skill, file);
      } catch (thrown) {
        if (thrown instanceof WorkspaceRefusal) return refused(thrown.errorType, thrown.message);
        throw thrown;
      }
    },
  };
}

async function instructionsOf({ name, body, folder }: Skill): Promise<ToolResultData> {
  const { files, more } = await listInside(folder);
  const parts = [body === '' ? `The skill ${name} has no text.` : body];
  if (files.length > 0) {
    const listed = files.map((file) => `- ${quoted(file)}`).join('\n');
    parts.push(`Files of the skill ${name}, which activate_skill gives:\n${listed}${more ? '\nThere are more.' : ''}`);
  }
  return {
    llmContent: parts.map((part) => ({ type: 'text', text: part })),
    data: { skill: name, files: [...files], ...(more && { more }) },
  };
}

async function fileOf({ name, folder }: Skill, file: string): Promise<ToolResultData> {
  const { text } = await readTextInside(folder, file);
  return { llmContent: [{ type: 'text', text }], data: { skill: name, file } };
}
