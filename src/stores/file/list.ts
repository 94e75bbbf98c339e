import type { SessionSummary } from '../../contracts/index.js';
import { isSessionId } from '../../kernel/session-id.js';
import { codeOf, orMissing } from './file-port.js';
import { openLog } from './open-log.js';
import { sessionFiles, sessionsDirectory } from './session-files.js';
import { doing } from './store-fault.js';
import type { StoreParts } from './store-parts.js';
import { isFresh, readSummary, type Summary, scanFrom, writeSummary } from './summary.js';

const AT_ONCE = 16;

/** Newest first. Reads a log only where its summary is missing, or older than the log is. */
export async function listSessions(
  parts: StoreParts,
  root: string,
  agentName: string | undefined,
  scope: { appName?: string; userId?: string },
): Promise<SessionSummary[]> {
  const found = (await summaries(parts, root)).filter(({ agentName: of, metadata, isLost }) => {
    if (agentName !== undefined && of !== agentName) return false;
    // Whose it is cannot be told: an application sees it, of the users none.
    if (isLost) return scope.userId === undefined;
    if (scope.appName !== undefined && metadata.appName !== scope.appName) return false;
    return scope.userId === undefined || metadata.userId === scope.userId;
  });
  return found.map(toListed).sort((a, b) => compare(b.lastUpdateTime, a.lastUpdateTime) || compare(a.id, b.id));
}

/** Of every session there is, in no order. */
export async function summaries(parts: StoreParts, root: string): Promise<Summary[]> {
  const directory = sessionsDirectory(root);
  const names = (await doing(`${directory} cannot be read`, orMissing(parts.files.names(directory)))) ?? [];
  const found: Summary[] = [];
  const left = names.filter((name) => !name.startsWith('.')).values();
  const take = async () => {
    for (const name of left) {
      const summary = await summaryOf(parts, root, name);
      if (summary !== undefined) found.push(summary);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
  return found;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function toListed(summary: Summary): SessionSummary {
  const { id, agentName, metadata, lastUpdateTime, eventCount, forkedFrom, damaged, isLost } = summary;
  const listed: SessionSummary = { id, agentName, lastUpdateTime, eventCount };
  if (typeof metadata.title === 'string') listed.title = metadata.title;
  if (forkedFrom !== undefined) listed.forkedFrom = forkedFrom;
  const damage: string[] = [];
  if (isLost) damage.push('its header is lost, whose it was is not known');
  if (damaged > 0)
    damage.push(damaged === 1 ? 'a part of its log cannot be read' : `${damaged} parts of its log cannot be read`);
  if (damage.length > 0) listed.damage = damage.join('; ');
  return listed;
}

/** Undefined, with a notice, where what is there is no session, or one that nothing was said in. */
async function summaryOf(parts: StoreParts, root: string, name: string): Promise<Summary | undefined> {
  const skip = (code: string, why: string) => {
    parts.onNotice({ code, sessionId: name, text: `${name} is left out: ${why}` });
    return undefined;
  };
  if (!isSessionId(name)) return skip('FOREIGN_FILE', 'its name is no session id');
  try {
    const summary = await sumUp(parts, root, name);
    if (summary === undefined) return skip('FOREIGN_FILE', 'it holds no log');
    if (summary.eventCount > 0 || parts.writers.has(name)) return summary;
    return skip('EMPTY_SESSION', 'nothing was said in it');
  } catch (thrown) {
    return skip(String(codeOf(thrown) ?? 'STORE_FAILED'), thrown instanceof Error ? thrown.message : String(thrown));
  }
}

async function sumUp(parts: StoreParts, root: string, id: string): Promise<Summary | undefined> {
  const { files } = parts;
  const paths = sessionFiles(root, id);
  const facts = await orMissing(files.factsAt(paths.log));
  if (facts === undefined) return undefined;
  const read = await readSummary(files, paths.summary);
  const before = read?.id === id ? read : undefined;
  if (before !== undefined && isFresh(before, facts)) return before;
  // While it is being written it only grows. What nobody writes and is another than it was may be so anywhere.
  const grows = before !== undefined && (await parts.locks.isTaken(paths.directory));
  const { scan, header, lastUpdateTime } = await openLog(files, paths, id, grows ? scanFrom(before, facts) : undefined);
  const { lastSeq, reservedSeq, count: eventCount, state, lines, size, ino, gaps, last, torn } = scan;
  const { agentName, metadata, forkedFrom } = header;
  const summary: Summary = {
    format: 1,
    id,
    agentName,
    metadata,
    ...(forkedFrom !== undefined && { forkedFrom }),
    ...(header.isLost && { isLost: true }),
    lastSeq,
    reservedSeq,
    eventCount,
    lastUpdateTime: last === undefined && before !== undefined && lastSeq > 0 ? before.lastUpdateTime : lastUpdateTime,
    damaged: gaps.filter(({ kind }) => kind === 'damaged').length,
    state: Object.fromEntries(state),
    sharedSeq: before?.sharedSeq ?? 0,
    log: { ino, size, lines, mtimeMs: facts.mtimeMs },
  };
  const isWhole = torn === undefined && !scan.endsOpen && size === facts.size;
  // What is open is summed up by its writer once it is closed.
  if (isWhole && !parts.writers.has(id)) await writeSummary(files, paths.summary, summary).catch(() => {});
  return summary;
}
