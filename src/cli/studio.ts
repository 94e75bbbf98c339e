import { resolve } from 'node:path';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';
import { badUse } from './report-error.js';
import type { RunParts } from './run.js';
import { untilSignal } from './until-signal.js';

export interface StudioCommand {
  /** Its team can be started from the page. */
  file?: string | undefined;
  port?: string | undefined;
  script?: string | undefined;
  root?: string | undefined;
  store?: string | undefined;
  json?: boolean | undefined;
}

export type StudioParts = Pick<
  RunParts,
  'loadDefinition' | 'loadModel' | 'workspaceTools' | 'openStore' | 'createHost'
>;

/** Serves Studio for the stored sessions, and for runs of a team that are started from its page, until a signal ends it. */
export async function studioCommand(command: StudioCommand, io: CommandIo, parts: StudioParts): Promise<number> {
  const port = portOf(command.port);
  const loaded = command.file === undefined ? undefined : await parts.loadDefinition(command.file);
  for (const notice of loaded?.notices ?? []) void io.stderr.write(`troupe: ${visibleLine(notice)}\n`);
  for (const folder of loaded?.extensions ?? [])
    void io.stderr.write(
      `troupe: the extension ${visibleLine(folder)} takes no part here; it does in troupe run and chat\n`,
    );
  const scriptPath = command.script === undefined ? loaded?.script : resolve(io.cwd, command.script);
  const host = parts.createHost({
    ...(scriptPath !== undefined && { models: { scripted: await parts.loadModel(scriptPath) } }),
    tools: parts.workspaceTools(resolve(io.cwd, command.root ?? '.')),
    store: parts.openStore(command.store, command.file),
    ...(loaded !== undefined && { agents: [loaded.definition] }),
  });
  try {
    const { url } = await host.inspectServer({ port });
    await io.stdout.write(command.json === true ? `${JSON.stringify({ url })}\n` : `Studio is at\n  ${url}\n`);
    await untilSignal(io);
  } finally {
    await host.close();
  }
  return exitCodes.completed;
}

export function portOf(given: string | undefined): number {
  if (given === undefined) return 0;
  const port = Number(given);
  if (given.trim() === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw badUse(`--port takes a number from 0 to 65535, not "${given}"`);
  return port;
}
