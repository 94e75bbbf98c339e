import type { Project, ProjectOptions } from '../define/project/project.js';
import { TroupeError } from '../kernel/errors.js';
import type { CommandIo } from './command-io.js';
import { visibleLine } from './plain-text.js';
import { FormStopped, type Prompter } from './question-form.js';
import { plural } from './tree-figures.js';
import type { TrustParts } from './trust.js';

export interface ProjectUse {
  /** `--trust`: all of it, for this run. */
  readonly trust: boolean;
  /** A person can be asked. */
  readonly prompter: ((signal: AbortSignal) => Promise<Prompter>) | undefined;
}

/**
 * What a run gets of the folder that it is started in. Where something of it is not trusted a person is asked, if there
 * is one; otherwise it is left out, and that is said.
 */
export async function projectFor(
  options: ProjectOptions,
  { trust, prompter }: ProjectUse,
  io: CommandIo,
  parts: Pick<TrustParts, 'openProject' | 'trustProject'>,
): Promise<Project> {
  let refusal: unknown;
  const project = await parts.openProject({ ...options, ...(trust && { trusted: true }) }).catch((thrown: unknown) => {
    if (prompter === undefined || !(thrown instanceof TroupeError) || thrown.code !== 'NOT_TRUSTED') throw thrown;
    refusal = thrown;
    // As if nothing had ever been agreed to: a person looks at all of it.
    return parts.openProject({ ...options, trust: { read: async () => undefined, write: async () => {} } });
  });
  const { untrusted } = project;
  if (untrusted.length === 0) {
    // What is missing cannot be agreed to here.
    if (refusal !== undefined) throw refusal;
    return project;
  }
  const roots = [...new Set(untrusted.map(({ root = project.folder }) => root))];
  if (prompter !== undefined) {
    const agreed = await askFor(project, roots, await prompter(new AbortController().signal));
    if (agreed === 'always')
      for (const folder of roots) await parts.trustProject({ ...options, folder, now: () => io.now() });
    if (agreed !== 'no') return parts.openProject({ ...options, trusted: true });
    if (refusal !== undefined) throw refusal;
  }
  for (const root of roots) {
    const said = `${visibleLine(root)} is not trusted: ${whatOf(project, root)} left out; see troupe trust, or run with --trust`;
    void io.stderr.write(`troupe: ${said}\n`);
  }
  return project;
}

/** `1 agent, 2 hooks`: what of a folder is not trusted. */
function whatOf({ folder, untrusted }: Project, root: string): string {
  const counts = new Map<string, number>();
  for (const item of untrusted)
    if ((item.root ?? folder) === root) counts.set(item.kind, (counts.get(item.kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => plural(count, KINDS[kind] ?? kind)).join(', ');
}

const KINDS: Readonly<Record<string, string>> = {
  agent: 'agent',
  hook: 'hook',
  policy: 'policy file',
  mcp_server: 'MCP server',
  skill: 'skill',
  tool: 'file of tools',
  context: 'context file',
  extension: 'extension',
};

async function askFor(
  project: Project,
  roots: readonly string[],
  prompter: Prompter,
): Promise<'always' | 'once' | 'no'> {
  const lines = roots.flatMap((folder) => [
    `${folder} brings ${whatOf(project, folder)} that you have not agreed to:`,
    ...project.untrusted
      .filter(({ root = project.folder }) => root === folder)
      .flatMap(({ kind, name, path, warnings }) => [
        `  ${KINDS[kind] ?? kind} ${name}, in ${path}`,
        ...warnings.map((warning) => `    ${warning}`),
      ]),
  ]);
  prompter.say(lines.map(visibleLine));
  try {
    return await prompter.choose<'always' | 'once' | 'no'>({
      message: roots.length > 1 ? 'Trust these folders?' : 'Trust this folder?',
      choices: [
        { value: 'no', label: 'No, run without it' },
        { value: 'once', label: 'For this run' },
        { value: 'always', label: 'Yes, until something of it changes' },
      ],
      initial: 'no',
    });
  } catch (thrown) {
    if (thrown instanceof FormStopped) return 'no';
    throw thrown;
  }
}
