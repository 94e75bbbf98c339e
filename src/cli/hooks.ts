import type { HookItem } from '../define/project/items.js';
import type { Project } from '../define/project/project.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';

export interface HooksListCommand {
  json?: boolean | undefined;
}

/** Lists the command hooks that a run in this folder has, and those that do not count because they are not trusted. */
export async function hooksListCommand(
  { json }: HooksListCommand,
  io: Pick<CommandIo, 'stdout'>,
  { items, untrusted }: Pick<Project, 'items' | 'untrusted'>,
): Promise<number> {
  const hooks = items.filter((item): item is HookItem => item.kind === 'hook');
  const report = hooks.map((item) => {
    const { point, command, args, timeoutMs } = item.options ?? {};
    return {
      name: item.name,
      point,
      command,
      ...(args !== undefined && { args }),
      timeoutMs: timeoutMs ?? 60_000,
      origin: item.origin,
      path: item.path,
      active: !untrusted.includes(item) && item.problems.length === 0,
      problems: item.problems,
    };
  });
  if (json === true) await io.stdout.write(`${JSON.stringify({ hooks: report }, undefined, 2)}\n`);
  else if (report.length === 0)
    await io.stdout.write('no hooks: .troupe/hooks.yaml and ~/.troupe/hooks.yaml declare none\n');
  else {
    const lines = report.flatMap(({ name, point, command, args = [], origin, path, active, problems }) => [
      `${active ? 'on ' : 'off'} ${point ?? '?'}: ${[command ?? '?', ...args].join(' ')} (${name}, ${origin}, ${path})`,
      ...problems.map((problem) => `    ${problem}`),
    ]);
    const isOff = report.some(({ active, problems }) => !active && problems.length === 0);
    if (isOff)
      lines.push('those that are off come from a folder that is not trusted, or have changed: see troupe trust');
    await io.stdout.write(`${lines.map(visibleLine).join('\n')}\n`);
  }
  return exitCodes.completed;
}
