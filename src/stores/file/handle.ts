import { dirname } from 'node:path';
import type {
  AgentEvent,
  Bag,
  LogGap,
  SessionHandle,
  SessionHead,
  SessionMetadata,
  SessionSnapshot,
} from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { assertPosition } from '../../kernel/position.js';
import { withoutTemporary } from '../../kernel/temporary.js';
import { archive } from './archive.js';
import { orMissing, syncDirectory } from './file-port.js';
import { changesState, eventLine, headerLine, type LogHeader, reserveLine } from './log-line.js';
import { createLogWriter, type LogWriter } from './log-writer.js';
import { type FoundLog, headerAt, NEVER, notFound, openLog } from './open-log.js';
import { readLog } from './read-log.js';
import { sortRecords, writeLog } from './rewrite-log.js';
import { gapsOf, keepState, type LogScan, newScan, type Range, type StateEntry, scanOn } from './scan-log.js';
import type { SessionFiles } from './session-files.js';
import { sharedPart } from './shared-state.js';
import { doing } from './store-fault.js';
import type { StoreParts } from './store-parts.js';
import { type Summary, writeSummary } from './summary.js';

/** Positions of events that this handle wrote and can tell from others without looking into the log. */
const MOST_RECENT = 8_192;

/** One session in files: a reader until it first writes, then its one writer until it is closed. */
export class FileHandle implements SessionHandle {
  readonly id: string;
  readonly #parts: StoreParts;
  readonly #paths: SessionFiles;
  #header: LogHeader;
  #gaps: readonly LogGap[];
  #lastSeq: number;
  #reservedSeq: number;
  #count: number;
  #lines: number;
  #lastUpdateTime: string;
  /** Absent where there is none. */
  #state: Map<string, StateEntry> | undefined;
  /** Changes of shared keys up to this one are where they are shared; undefined: not looked at. */
  #sharedSeq: number | undefined;
  /** What this handle has read of the log: only what is still so may be written on. */
  #readTo: { ino: number; size: number };
  #torn: Range | undefined;
  #endsOpen: boolean;
  /** Kept from opening for the first reading. */
  #scan: LogScan | undefined;
  #writer: LogWriter | undefined;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  /** Appends that wait for the lock. */
  #inLine: { event: AgentEvent; resolve: () => void; reject: (thrown: unknown) => void }[] | undefined;
  #line: Promise<void> | undefined;
  /** Appends that wait for a look into the log. */
  #looking = 0;
  #recent: number[] | undefined;
  /** Below it, and in a log that was found, only the log knows what it holds. */
  #recentFrom: number;

  /** Its files were made just now: that they are there is not durable yet. */
  #isNew: boolean;

  constructor(
    parts: StoreParts,
    paths: SessionFiles,
    { scan, header, lastUpdateTime, readTo }: FoundLog,
    isNew = false,
  ) {
    this.#isNew = isNew;
    this.id = header.id;
    this.#parts = parts;
    this.#paths = paths;
    this.#header = header;
    this.#gaps = gapsOf(scan);
    this.#lastSeq = scan.lastSeq;
    this.#reservedSeq = scan.reservedSeq;
    this.#count = scan.count;
    this.#lines = scan.lines;
    this.#lastUpdateTime = lastUpdateTime;
    this.#state = scan.state.size === 0 ? undefined : scan.state;
    this.#readTo = { ino: scan.ino, size: readTo };
    this.#torn = scan.torn;
    this.#endsOpen = scan.endsOpen;
    this.#scan = scan.count === 0 ? undefined : scan;
    this.#recentFrom = scan.lastSeq;
  }

  get agentName(): string {
    return this.#header.agentName;
  }

  get metadata(): SessionMetadata {
    return this.#header.metadata;
  }

  get events(): AsyncIterable<AgentEvent> {
    return this.#read();
  }

  get lastUpdateTime(): string {
    return this.#lastUpdateTime;
  }

  get gaps(): readonly LogGap[] {
    return this.#gaps;
  }

  get state(): Bag {
    const own = [...(this.#state ?? [])].filter(([key]) => !/^(?:app|user|temp):/.test(key));
    const { metadata } = this.#header;
    return { ...this.#parts.shared.read(metadata), ...Object.fromEntries(own.map(([key, { value }]) => [key, value])) };
  }

  get head(): SessionHead {
    const { metadata, forkedFrom } = this.#header;
    const head = { lastSeq: this.#lastSeq, reservedSeq: this.#reservedSeq, eventCount: this.#count, metadata };
    return forkedFrom === undefined ? head : { ...head, forkedFrom };
  }

  isWritten(): Promise<boolean> {
    return this.#parts.locks.isTaken(this.#paths.directory);
  }

  async lock(): Promise<void> {
    await this.#closing;
    if (this.#writer !== undefined && this.#opening === undefined) return;
    this.#opening ??= this.#becomeWriter().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  append(event: AgentEvent): Promise<void> {
    try {
      assertPosition(event);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
    if (this.#writer !== undefined && this.#opening === undefined && this.#line === undefined) {
      return this.#append(event);
    }
    return new Promise((resolve, reject) => {
      this.#inLine ??= [];
      this.#inLine.push({ event, resolve, reject });
      this.#line ??= this.#takeInTurn();
    });
  }

  /** What came before the lock was there is appended in the order in which it came. */
  async #takeInTurn(): Promise<void> {
    let refusal: unknown;
    try {
      await this.lock();
    } catch (thrown) {
      refusal = thrown;
    }
    const inLine = this.#inLine;
    this.#inLine = undefined;
    this.#line = undefined;
    for (const { event, resolve, reject } of inLine ?? []) {
      if (refusal === undefined) this.#append(event).then(resolve, reject);
      else reject(refusal);
    }
  }

  #append(event: AgentEvent): Promise<void> {
    const { seq } = event;
    if (seq > this.#lastSeq) return this.#write(event);
    if (seq > this.#recentFrom && !this.#isRecent(seq)) return this.#write(event);
    return this.#writeUnlessThere(event);
  }

  #write(event: AgentEvent): Promise<void> {
    const writer = this.#writer as LogWriter;
    const { seq, timestamp } = event;
    const stored = withoutTemporary(event);
    let line: string;
    try {
      line = eventLine(stored);
    } catch (thrown) {
      return writer.refuse(thrown);
    }
    const before = this.#lastSeq;
    this.#note(seq);
    this.#count++;
    this.#lines++;
    if (seq > before) {
      this.#lastSeq = seq;
      this.#lastUpdateTime = timestamp;
      if (seq > this.#reservedSeq) this.#reservedSeq = seq;
    }
    const written = writer.write(line);
    return changesState(stored) ? this.#changeState(stored, written) : written;
  }

  /** Keys that are shared are with the others once the log has them. */
  async #changeState(event: AgentEvent<'session_update'> & { stateDelta: Bag }, written: Promise<void>): Promise<void> {
    const { seq, timestamp, stateDelta } = event;
    this.#state ??= new Map();
    keepState(this.#state, seq, timestamp, stateDelta);
    const changes = new Map(Object.entries(stateDelta).map(([key, value]) => [key, { seq, timestamp, value }]));
    const shared = sharedPart(changes);
    if (shared.size === 0) return written;
    const sharing = this.#parts.shared.write(this.#header.metadata, shared);
    this.#sharedSeq = seq;
    (this.#writer as LogWriter).alsoWait(sharing);
    await Promise.all([written, doing(`session "${this.id}": its shared state cannot be written`, sharing)]);
  }

  #note(seq: number): void {
    this.#recent ??= [];
    const recent = this.#recent;
    let at = recent.length;
    while (at > 0 && (recent[at - 1] as number) > seq) at--;
    if (at === recent.length) recent.push(seq);
    else recent.splice(at, 0, seq);
    if (recent.length < MOST_RECENT) return;
    const old = recent.splice(0, MOST_RECENT / 2);
    this.#recentFrom = Math.max(this.#recentFrom, old.at(-1) as number);
  }

  /** Whether this handle has written it, as far as it remembers. */
  #isRecent(seq: number): boolean {
    const recent = this.#recent ?? [];
    let at = recent.length;
    while (at > 0 && (recent[at - 1] as number) > seq) at--;
    return recent[at - 1] === seq;
  }

  /** An event whose place is further up, or one that is there already: the log is asked. */
  async #writeUnlessThere(event: AgentEvent): Promise<void> {
    this.#looking++;
    try {
      for await (const { seq, id } of this.#read()) {
        if (seq === event.seq && id === event.id) return;
        if (seq > event.seq) break;
      }
    } finally {
      this.#looking--;
    }
    return this.#write(event);
  }

  async reserve(toSeq: number): Promise<void> {
    await this.lock();
    if (toSeq <= this.#reservedSeq) return;
    this.#reservedSeq = toSeq;
    this.#lines++;
    return (this.#writer as LogWriter).write(reserveLine(toSeq));
  }

  async truncate(toSeq: number): Promise<void> {
    await this.lock();
    const writer = this.#writer as LogWriter;
    await writer.written();
    if (this.#lastSeq <= toSeq) return;
    const { files } = this.#parts;
    await doing(`session "${this.id}" cannot be cut`, this.#cut(toSeq, writer, files));
  }

  async #cut(toSeq: number, writer: LogWriter, files: StoreParts['files']): Promise<void> {
    const scan = newScan(this.#readTo.ino);
    await scanOn(files, writer.fd, scan);
    const { kept, cut } = await sortRecords(files, writer.fd, scan, toSeq);
    await archive(files, this.#paths.archive, `after-${toSeq}`, writer.fd, cut);
    const beside = `${this.#paths.log}.new`;
    await writeLog(files, beside, this.#header, writer.fd, kept, this.#reservedSeq);
    await files.rename(beside, this.#paths.log);
    // The directory may be one that only the journal knows.
    for (const one of [this.#paths.directory, dirname(this.#paths.directory)]) await syncDirectory(files, one);
    await writer.reopen();
    this.#adopt(await openLog(files, this.#paths, this.id));
  }

  async snapshot(): Promise<SessionSnapshot> {
    const events: AgentEvent[] = [];
    for await (const event of this.#read()) events.push(event);
    const { id, agentName, state } = this;
    return { id, agentName, events, state: structuredClone(state) };
  }

  close(): void | Promise<void> {
    if (this.#closing !== undefined) return this.#closing;
    if (this.#writer === undefined && this.#line === undefined && this.#opening === undefined) return;
    this.#closing = this.#close().finally(() => {
      this.#closing = undefined;
    });
    return this.#closing;
  }

  /** Resolves once all that was appended by now is in the log, or could not be written. */
  async settled(): Promise<void> {
    await this.#line;
    await this.#opening?.catch(() => {});
    await this.#writer?.written().catch(() => {});
  }

  async #close(): Promise<void> {
    await this.#line;
    await this.#opening?.catch(() => {});
    while (this.#looking > 0) await new Promise((resolve) => setImmediate(resolve));
    const writer = this.#writer;
    if (writer === undefined) return;
    const isWhole = await writer.written().then(
      () => true,
      () => false,
    );
    this.#readTo = isWhole ? { ino: this.#readTo.ino, size: writer.size } : { ino: 0, size: -1 };
    if (isWhole) await this.#sumUp(writer).catch(() => {});
    this.#writer = undefined;
    this.#recent = undefined;
    this.#recentFrom = this.#lastSeq;
    this.#parts.writers.delete(this.id);
    await writer.close();
    await this.#parts.locks.release(this.#paths.directory);
  }

  /** Where it cannot be written, `list` reads the log. */
  async #sumUp(writer: LogWriter): Promise<void> {
    const { files } = this.#parts;
    const { ino, size, mtimeMs } = await files.facts(writer.fd);
    await writeSummary(files, this.#paths.summary, this.#summary({ ino, size, mtimeMs, lines: this.#lines }));
  }

  #summary(log: Summary['log']): Summary {
    const { agentName, metadata, forkedFrom } = this.#header;
    return {
      format: 1,
      id: this.id,
      agentName,
      metadata,
      ...(forkedFrom !== undefined && { forkedFrom }),
      ...(this.#header.isLost && { isLost: true }),
      lastSeq: this.#lastSeq,
      reservedSeq: this.#reservedSeq,
      eventCount: this.#count,
      lastUpdateTime: this.#lastUpdateTime,
      damaged: 0,
      state: Object.fromEntries(this.#state ?? []),
      sharedSeq: this.#sharedSeq ?? 0,
      log,
    };
  }

  async #becomeWriter(): Promise<void> {
    const { locks, writers } = this.#parts;
    const { directory } = this.#paths;
    await doing(`session "${this.id}" cannot be locked`, locks.take(this.id, directory)).catch(
      async (thrown: unknown) => {
        if ((await orMissing(this.#parts.files.factsAt(directory))) === undefined) throw notFound(this.id);
        throw thrown;
      },
    );
    try {
      this.#writer = await doing(`session "${this.id}" cannot be written`, this.#openWriter());
      writers.set(this.id, this);
      await this.#shareLate();
    } catch (thrown) {
      await locks.release(directory).catch(() => {});
      throw thrown;
    }
  }

  async #openWriter(): Promise<LogWriter> {
    const { files, committer } = this.#parts;
    const fd = await files.open(this.#paths.log, 'r+');
    try {
      const { ino, size } = await files.facts(fd);
      if (ino !== this.#readTo.ino || size !== this.#readTo.size) throw isStale(this.id);
      const damage = this.#gaps.find(({ kind }) => kind === 'damaged');
      if (damage !== undefined) {
        throw new TroupeError({
          code: 'SESSION_DAMAGED',
          message: `the log of session "${this.id}" is damaged at line ${damage.line} (${damage.reason}): it can be read, and written on once it is repaired (troupe sessions repair ${this.id})`,
        });
      }
      // A log that took the place of a deleted one may have its inode, and its size.
      if ((await headerAt(files, fd))?.made !== this.#header.made) throw isStale(this.id);
      let end = size;
      if (this.#torn !== undefined) {
        await archive(files, this.#paths.archive, 'torn', fd, [this.#torn]);
        end = this.#torn.from;
        await files.truncate(fd, end);
        await files.datasync(fd);
        this.#parts.onNotice({
          code: 'TORN_RECORD',
          sessionId: this.id,
          text: `the last record of session "${this.id}" was cut off while being written; what is left of it was put aside`,
        });
        this.#torn = undefined;
      }
      const { directory, log: path } = this.#paths;
      const made = this.#isNew
        ? { header: headerLine(this.#header), directories: [directory, dirname(directory)] }
        : undefined;
      this.#isNew = false;
      const endsOpen = this.#endsOpen;
      return createLogWriter({ files, committer, path, id: this.id, fd, ino, size: end, endsOpen, made });
    } catch (thrown) {
      await files.close(fd);
      throw thrown;
    }
  }

  /** What a crash kept from those who share it. */
  async #shareLate(): Promise<void> {
    const shared = sharedPart(this.#state ?? new Map());
    if (shared.size === 0 || this.#sharedSeq !== undefined) return;
    const upTo = await this.#parts.sharedUpTo(this.#paths);
    const late = new Map([...shared].filter(([, { seq }]) => seq > upTo));
    if (late.size > 0) await this.#parts.shared.write(this.#header.metadata, late, true);
    this.#sharedSeq = Math.max(upTo, ...[...late.values()].map(({ seq }) => seq));
  }

  async *#read(): AsyncGenerator<AgentEvent> {
    const { files } = this.#parts;
    let scan = this.#scan;
    this.#scan = undefined;
    let from = 0;
    let lastSeq = 0;
    for (;;) {
      await this.settled();
      const fd = await doing(`session "${this.id}" cannot be read`, orMissing(files.open(this.#paths.log, 'r')));
      if (fd === undefined) throw notFound(this.id);
      try {
        const { ino, size } = await files.facts(fd);
        if (scan?.ino !== ino || size < scan.size) {
          scan = newScan(ino);
          from = 0;
        }
        if (size > (scan.torn?.to ?? scan.size) || scan.size === 0) await scanOn(files, fd, scan, size);
        if (from >= scan.size) break;
        for await (const event of readLog(files, fd, scan, from, lastSeq)) {
          lastSeq = event.seq;
          yield event;
        }
        from = scan.size;
      } finally {
        await files.close(fd);
      }
    }
    if (this.#writer === undefined && this.#opening === undefined && this.#isNews(scan)) {
      this.#adopt(await openLog(files, this.#paths, this.id, scan));
    }
  }

  #isNews(scan: LogScan): boolean {
    const { ino, size } = this.#readTo;
    return ino !== scan.ino || size !== (scan.torn?.to ?? scan.size);
  }

  /** All that was read is what this handle goes on from. */
  #adopt({ scan, header, lastUpdateTime, readTo }: FoundLog): void {
    this.#header = header;
    this.#gaps = gapsOf(scan);
    this.#lastSeq = scan.lastSeq;
    this.#reservedSeq = scan.reservedSeq;
    this.#count = scan.count;
    this.#lines = scan.lines;
    this.#lastUpdateTime = lastUpdateTime;
    this.#state = scan.state.size === 0 ? undefined : scan.state;
    this.#readTo = { ino: scan.ino, size: readTo };
    this.#torn = scan.torn;
    this.#endsOpen = scan.endsOpen;
    this.#recent = undefined;
    this.#recentFrom = scan.lastSeq;
  }
}

const isStale = (id: string) =>
  new TroupeError({
    code: 'SESSION_STALE',
    message: `session "${id}" was written by another since it was read here; load it again`,
  });

export const emptyLog = (header: LogHeader, ino: number, size: number): FoundLog => ({
  scan: Object.assign(newScan(ino), { header, size, lines: 1 }),
  header,
  lastUpdateTime: NEVER,
  readTo: size,
});
