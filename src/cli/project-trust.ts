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
  if (untrusted.length === 0) return project;
  const counts = new Map<string, number>();
  for (const { kind } of untrusted) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const what = [...counts].map(([kind, count]) => plural(count, KINDS[kind] ?? kind)).join(', ');
  if (prompter !== undefined) {
    const agreed = await askFor(project, what, await prompter(new AbortController().signal));
    if (agreed === 'always') await parts.trustProject({ ...options, now: () => io.now() });
    if (agreed !== 'no') return parts.openProject({ ...options, trusted: true });
    if (refusal !== undefined) throw refusal;
  }
  const said = `${visibleLine(project.folder)} is not trusted: ${what} left out; see troupe trust, or run with --trust`;
  void io.stderr.write(`troupe: ${said}\n`);
  return project;
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

async function askFor(project: Project, what: string, prompter: Prompter): Promise<'always' | 'once' | 'no'> {
  const lines = project.untrusted.flatMap(({ kind, name, path, warnings }) => [
    `  ${KINDS[kind] ?? kind} ${name}, in ${path}`,
    ...warnings.map((warning) => `    ${warning}`),
  ]);
  prompter.say([`${project.folder} brings ${what} that you have not agreed to:`, ...lines].map(visibleLine));
  try {
    return await prompter.choose<'always' | 'once' | 'no'>({
      message: 'Trust this folder?',
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
