import { relative, resolve } from 'node:path';
import type { SessionProvider } from '../contracts/index.js';
import type { FileStore } from '../stores/file.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';
import { badUse } from './report-error.js';
import { type RunCommand, type RunParts, runCommand } from './run.js';

export interface ResumeCommand extends Omit<RunCommand, 'file' | 'prompt' | 'ephemeral' | 'resume'> {
  id: string;
  /** Of its definition; absent: the one that it was begun with. */
  file?: string | undefined;
  repair?: boolean | undefined;
}

/** Goes on with a run where its log breaks off; ends as `run` does. */
export async function sessionsResumeCommand(
  { id, file, repair, ...command }: ResumeCommand,
  io: CommandIo,
  { store, parts }: { store: FileStore; parts: RunParts },
): Promise<number> {
  const named = file ?? (await fileOf(id, store, io));
  return runCommand({ ...command, file: named, resume: { id, repair: repair === true } }, io, parts);
}

/** To name a file is to trust it, as it may be code. A log may come from anywhere: it names none that is. */
async function fileOf(id: string, store: FileStore, io: Pick<CommandIo, 'cwd'>): Promise<string> {
  const handle = await store.load(id);
  const file = handle.head?.metadata.file;
  if (typeof file === 'string' && /\.(?:md|ya?ml|json)$/.test(file)) return relative(io.cwd, file);
  const known = typeof file === 'string' ? ` (it was begun with ${visibleLine(file)})` : '';
  throw badUse(
    `name the file that "${visibleLine(handle.agentName)}" is defined in${known}: troupe sessions resume ${id} <file>`,
  );
}

interface Stored {
  id: string;
  store?: string | undefined;
  json?: boolean | undefined;
}

/** Makes a session that goes its own way from a position of another. */
export async function sessionsForkCommand(
  { id, at, json }: Stored & { at?: string | undefined },
  io: Pick<CommandIo, 'stdout'>,
  { store, parts }: { store: SessionProvider; parts: Pick<RunParts, 'createHost'> },
): Promise<number> {
  const host = parts.createHost({ store });
  try {
    const forked = await host.fork(id, at === undefined ? {} : { at: positionOf(at, '--at') });
    const said = `${forked.sessionId} is a fork of ${id} at ${forked.at}\n`;
    await io.stdout.write(json === true ? `${JSON.stringify(forked)}\n` : said);
    return exitCodes.completed;
  } finally {
    await host.close();
  }
}

/** Takes a session back to a position. */
export async function sessionsRewindCommand(
  { id, to, json, restoreFiles }: Stored & { to: string; restoreFiles?: string | true | undefined },
  io: Pick<CommandIo, 'stdout' | 'cwd'>,
  { store, parts }: { store: SessionProvider; parts: Pick<RunParts, 'createHost'> },
): Promise<number> {
  const position = positionOf(to, '--to');
  const host = parts.createHost({ store });
  try {
    const root = restoreFiles === true ? '.' : restoreFiles;
    await host.rewind(id, {
      to: position,
      ...(root !== undefined && { restoreFiles: resolve(io.cwd, root) }),
    });
    const { files = [], restored, left } = await filesSince(store, id);
    const told = { id, to: position, files, ...(restored && { restored }), ...(left && { left }) };
    await io.stdout.write(
      json === true ? `${JSON.stringify(told)}\n` : `${id} was taken back to ${position}${inWords(told)}\n`,
    );
    return exitCodes.completed;
  } finally {
    await host.close();
  }
}

/** As the notice of the rewind says, which is the last event by then. */
async function filesSince(store: SessionProvider, id: string): Promise<Partial<FilesSince>> {
  let said: Partial<FilesSince> = {};
  for await (const event of (await store.load(id)).events) {
    if (event.type === 'custom' && event.kind === 'notice') said = event.data as Partial<FilesSince>;
  }
  return said;
}

interface FilesSince {
  files: string[];
  restored: string[];
  left: { path: string; why: string }[];
}

function inWords({ files, restored, left = [] }: Pick<FilesSince, 'files'> & Partial<FilesSince>): string {
  if (files.length === 0) return '';
  if (restored === undefined) return `; files written since stay as they are: ${files.map(visibleLine).join(', ')}`;
  const back = restored.length === 0 ? '' : `; put back: ${restored.map(visibleLine).join(', ')}`;
  const not = left.map(({ path, why }) => visibleLine(`${path} (${why})`)).join(', ');
  return left.length === 0 ? back : `${back}; left as they are: ${not}`;
}

function positionOf(text: string, option: string): number {
  const position = Number(text);
  if (Number.isSafeInteger(position) && position > 0) return position;
  throw badUse(`${option} takes the seq of an event, not "${text}"`);
}
