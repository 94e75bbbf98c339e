import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import type { AgentEvent, LogGap, SessionHandle, SessionSummary } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import type { FileStore } from '../stores/file.js';
import { type CommandIo, createPipe, type Pipe } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';
import { eventLine } from './render-json.js';
import { createLineRenderer } from './render-lines.js';
import { badUse } from './report-error.js';
import { styleFor } from './style.js';
import { plural } from './tree-figures.js';

type Io = Pick<CommandIo, 'stdout' | 'stderr' | 'cwd' | 'env'>;

export interface SessionsCommand {
  json?: boolean | undefined;
}

/** Lists what is stored, newest first. */
export async function sessionsListCommand(
  { agent, json }: SessionsCommand & { agent?: string | undefined },
  io: Io,
  store: FileStore,
): Promise<number> {
  const sessions = await store.list(agent);
  if (json === true) await io.stdout.write(jsonOf(sessions));
  else if (sessions.length === 0) await io.stdout.write('no sessions\n');
  else for (const session of sessions) await io.stdout.write(`${listed(session)}\n`);
  return exitCodes.completed;
}

function listed({ id, agentName, title, lastUpdateTime, eventCount, forkedFrom, damage }: SessionSummary): string {
  const columns = [id, lastUpdateTime, agentName, plural(eventCount, 'event')];
  if (title !== undefined) columns.push(title);
  if (forkedFrom !== undefined) columns.push(`forked from ${forkedFrom.id} at ${forkedFrom.at}`);
  if (damage !== undefined) columns.push(`damaged: ${damage}`);
  return columns.map(visibleLine).join('  ');
}

/** Says what a session is and what happened in it; as JSON, one object with all its events. */
export async function sessionsShowCommand(
  { id, json }: SessionsCommand & { id: string },
  io: Io,
  store: FileStore,
): Promise<number> {
  const handle = await store.load(id);
  const { head, gaps = [], state, lastUpdateTime, agentName } = handle;
  const about = { id, agentName, lastUpdateTime, ...head, gaps, state };
  if (json === true) {
    await io.stdout.write(`${JSON.stringify(about).slice(0, -1)},"events":[`);
    let separator = '\n';
    for await (const event of handle.events) {
      await io.stdout.write(separator + eventLine(event).trimEnd());
      separator = ',\n';
    }
    await io.stdout.write(']}\n');
    return exitCodes.completed;
  }
  await io.stdout.write(
    `session ${id} of ${visibleLine(agentName)}: ${plural(head?.eventCount ?? 0, 'event')}, the last (${head?.lastSeq ?? 0}) at ${lastUpdateTime}\n`,
  );
  if (head?.forkedFrom !== undefined) {
    await io.stdout.write(`forked from ${visibleLine(head.forkedFrom.id)} at ${head.forkedFrom.at}\n`);
  }
  await transcript(handle, gaps, io);
  return exitCodes.completed;
}

/** Each event with its `seq`, what was lost at the place where it is missing. */
async function transcript(handle: SessionHandle, gaps: readonly LogGap[], io: Io): Promise<void> {
  const { lines } = createLineRenderer(styleFor(io.stdout, io.env));
  const left = [...gaps];
  const tellGaps = async (before: number) => {
    while (left[0] !== undefined && left[0].afterSeq < before) {
      const { line, lines: count, reason } = left.shift() as LogGap;
      await io.stdout.write(
        `  ! ${count === 1 ? 'line' : `${count} lines from line`} ${line} cannot be read: ${reason}\n`,
      );
    }
  };
  for await (const event of handle.events) {
    await tellGaps(event.seq);
    for (const line of event.type === 'message' ? said(event) : lines(event)) {
      await io.stdout.write(`${String(event.seq).padStart(5)}  ${line}\n`);
    }
  }
  await tellGaps(Number.POSITIVE_INFINITY);
}

/** A log holds messages whole, and those of people too. */
function said({ role, content, threadId, agentId = 'host' }: AgentEvent<'message'>): string[] {
  const text = content.map((part) =>
    part.type === 'text' ? part.text : part.type === 'thought' ? '' : `[${part.type}]`,
  );
  const words = text.join(' ').trim();
  return words === ''
    ? []
    : [`[${visibleLine(role === 'user' ? 'user' : (threadId ?? agentId))}]: ${visibleLine(words)}`];
}

/** Writes the events of a session as JSON lines, to stdout or into a file that is not there yet. */
export async function sessionsExportCommand(
  { id, output }: { id: string; output?: string | undefined },
  io: Io,
  store: FileStore,
): Promise<number> {
  const handle = await store.load(id);
  if (output === undefined) {
    await writeEvents(handle, io.stdout);
    return exitCodes.completed;
  }
  const stream = createWriteStream(resolve(io.cwd, output), { flags: 'wx', mode: 0o600 });
  const opened = new Promise((done, fail) => stream.once('open', done).once('error', fail));
  await opened;
  const pipe = createPipe(stream);
  const count = await writeEvents(handle, pipe);
  await new Promise<void>((done) => stream.end(done));
  await io.stdout.write(`${plural(count, 'event')} in ${visibleLine(output)}\n`);
  return exitCodes.completed;
}

async function writeEvents(handle: SessionHandle, pipe: Pipe): Promise<number> {
  let count = 0;
  for await (const event of handle.events) {
    count++;
    await pipe.write(eventLine(event));
    if (pipe.closed) break;
  }
  return count;
}

/** Takes what cannot be read out of a log, so that it can be written on. */
export async function sessionsRepairCommand(
  { id, json }: SessionsCommand & { id: string },
  io: Io,
  store: FileStore,
): Promise<number> {
  const report = await store.repair(id);
  if (json === true) await io.stdout.write(jsonOf(report));
  else if (report.gaps.length === 0) await io.stdout.write(`${id} is whole: nothing was done\n`);
  else {
    const lines = report.gaps.map(({ line, reason }) => `  line ${line}: ${reason}\n`).join('');
    await io.stdout.write(
      `${id}: ${plural(report.gaps.length, 'gap')} taken out and kept in its archive; ${plural(report.eventCount, 'event')}, the last ${report.lastSeq}\n${lines}`,
    );
  }
  return exitCodes.completed;
}

/** Deletes sessions by their ids, or all that are older than an age. */
export async function sessionsDeleteCommand(
  { ids, olderThan, json }: SessionsCommand & { ids: readonly string[]; olderThan?: string | undefined },
  io: Io,
  store: FileStore,
): Promise<number> {
  if (ids.length === 0 && olderThan === undefined)
    throw badUse('name the sessions to delete, or give --older-than 30d');
  const known = ids.length < 2 ? undefined : new Set((await store.list()).map(({ id }) => id));
  const unknown = known === undefined ? [] : ids.filter((id) => !known.has(id));
  if (unknown.length > 0) throw badUse(`no session ${unknown.map((id) => `"${id}"`).join(', ')}; nothing was deleted`);
  const deleted: string[] = [];
  for (const id of new Set(ids)) {
    await store.delete(id).catch((thrown: unknown) => {
      if (deleted.length === 0) throw thrown;
      throw badUse(`${describeError(thrown).message}; deleted before it: ${deleted.join(', ')}`);
    });
    deleted.push(id);
  }
  if (olderThan !== undefined) deleted.push(...(await store.sweep({ maxAge: olderThan })));
  if (json === true) await io.stdout.write(jsonOf({ deleted }));
  else await io.stdout.write(`${plural(deleted.length, 'session')} deleted\n`);
  return exitCodes.completed;
}

const jsonOf = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`;
