import type { Section } from './section.js';

/** Tells of something that is not as the file says, at one of its keys. */
export type Notice = (key: string, text: string) => void;

/** Tools of other programs → ours that do the same. */
const SAME_TOOL: ReadonlyMap<string, string> = new Map([
  ['Read', 'read_file'],
  ['LS', 'list_directory'],
  ['Glob', 'glob'],
  ['Grep', 'search_text'],
  ['Write', 'write_file'],
  ['Edit', 'replace'],
  ['MultiEdit', 'replace'],
  ['Bash', 'run_shell_command'],
  ['AskUserQuestion', 'ask_user'],
  ['Skill', 'activate_skill'],
  ['grep_search', 'search_text'],
  ['search_file_content', 'search_text'],
  ['edit', 'replace'],
]);
const SUBAGENTS = /^(Agent|Task)$/;

/**
 * `tools` as a list or a text with commas, and `disallowedTools`, as the options of an agent. Left out with a notice:
 * tools that the host is known not to have, and those that the file allows for certain arguments only, because the
 * whole tool would be more than it says.
 */
export function translateTools(
  section: Section,
  notice: Notice,
  hostTools: readonly string[] | undefined,
): { tools?: string[]; inheritTools?: boolean } {
  const listed = readNames(section, 'tools');
  const denied = deniedIn(section);
  // It comes with the skills of the agent, and with nothing else.
  denied.delete('activate_skill');
  if (listed === undefined || listed.includes('*')) return inherited(notice, denied, hostTools);
  const tools: string[] = [];
  for (const name of listed) {
    const own = ourName(name);
    const isPattern = own.includes('*');
    if (SUBAGENTS.test(bareName(name))) notice('tools', `"${name}" is left out: sub-agents are the children of a team`);
    else if (name.includes('('))
      notice('tools', `"${name}" is left out: allow it for these arguments by a policy rule`);
    else if (denied.has(own) || own === 'activate_skill') continue;
    else if (hostTools !== undefined && !isPattern && !hostTools.includes(own))
      notice('tools', `"${name}" is left out: the host has no such tool`);
    else if (!tools.includes(own)) tools.push(own);
  }
  return { tools };
}

/** Whether the agent is not to have the tool that gives it its skills. */
export const deniesSkills = (section: Section): boolean => deniedIn(section).has('activate_skill');

const deniedIn = (section: Section): Set<string> =>
  new Set((readNames(section, 'disallowedTools') ?? []).map((name) => ourName(bareName(name))));

/** All that the parent has. Without what is denied that is a list, for which the host's tools must be known. */
function inherited(notice: Notice, denied: ReadonlySet<string>, hostTools: readonly string[] | undefined) {
  if (denied.size === 0) return { inheritTools: true };
  if (hostTools === undefined) {
    notice(
      'disallowedTools',
      'the agent gets no tools: all but these can only be given when the tools of the host are known',
    );
    return { tools: [] };
  }
  return { tools: hostTools.filter((name) => !denied.has(name)) };
}

function readNames(section: Section, key: string): string[] | undefined {
  const raw = section.raw(key);
  if (raw === undefined) return undefined;
  if (raw.kind !== 'scalar' || typeof raw.value !== 'string') return section.texts(key)?.map((name) => name.trim());
  return splitOutsideParentheses(raw.value);
}

/** `Read, Bash(git add, git commit)` → two names. */
function splitOutsideParentheses(text: string): string[] {
  return (text.match(/(?:\([^)]*\)?|[^,(])+/g) ?? []).map((name) => name.trim()).filter((name) => name !== '');
}

const bareName = (name: string) => name.replace(/\(.*$/s, '').trim();

function ourName(name: string): string {
  const mcp = /^mcp__(.+?)__(.+)$/.exec(name);
  return mcp ? `mcp_${mcp[1]}_${mcp[2]}` : (SAME_TOOL.get(name) ?? name);
}
