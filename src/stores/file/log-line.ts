import { crc32 } from 'node:zlib';
import type { AgentEvent, Bag, ForkOrigin, SessionMetadata } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';

/** Written into the header of each log. What is newer is refused by name. */
export const LOG_FORMAT = 1;

/** First line of a log; another one may follow where a later version went on with it. */
export interface LogHeader {
  readonly troupe: 'session-log';
  readonly format: number;
  readonly id: string;
  readonly agentName: string;
  readonly metadata: SessionMetadata;
  readonly forkedFrom?: ForkOrigin;
  /** Tells a log from one that had its name, and its place on the disk, before. */
  readonly made?: string;
  /** It stands in for one that could not be read: what the session was made with is not known. */
  readonly isLost?: true;
}

/*
 * A line is JSON: {"crc":"89abcdef",…}. The checksum is CRC-32 of the bytes behind its comma up to the end of the line.
 * Behind it stand `"seq":n` and `"event":{…}`, with `"state":1` between them where the event changes the session's
 * state; or `"reserve":n`; or a header.
 */
const OPENING = Buffer.from('{"crc":"');
const SUM_AT = OPENING.length;
const REST_AT = SUM_AT + 8 + 2;
const SEQ = Buffer.from('"seq":');
const RESERVE = Buffer.from('"reserve":');
const STATE = Buffer.from(',"state":1,');
const EVENT = Buffer.from(',"event":');
const COMMA = 44;
const ZERO = 48;
const NINE = 57;
const CLOSING = 125;

const toLine = (rest: string): string => `{"crc":"${crc32(rest).toString(16).padStart(8, '0')}",${rest}\n`;

export const headerLine = (header: LogHeader): string => toLine(JSON.stringify(header).slice(1));

const HEADER_SHAPE = '{"crc":"........","troupe":"session-log"';

/** Whether whoever made a log can have died while writing its first line, and has written nothing but that. */
export function isHalfHeader(text: string): boolean {
  if (text.includes('\n')) return false;
  for (let at = 0; at < Math.min(text.length, HEADER_SHAPE.length); at++) {
    if (HEADER_SHAPE[at] !== '.' && HEADER_SHAPE[at] !== text[at]) return false;
  }
  return true;
}

export const reserveLine = (toSeq: number): string => toLine(`"reserve":${toSeq}}`);

export function eventLine(event: AgentEvent): string {
  const mark = changesState(event) ? ',"state":1' : '';
  return toLine(`"seq":${event.seq}${mark},"event":${JSON.stringify(event)}}`);
}

/** Whether the state of the session as a whole follows from it. */
export const changesState = (event: AgentEvent): event is AgentEvent<'session_update'> & { stateDelta: Bag } =>
  event.type === 'session_update' && event.threadId === undefined && event.stateDelta !== undefined;

export type LineKind = 'event' | 'reserve' | 'other' | 'bad';

/** What stands in one line, told without parsing it. Reused from line to line: copy what is to stay. */
export interface LineFacts {
  kind: LineKind;
  /** Of an event, or up to which a reservation reaches. */
  seq: number;
  changesState: boolean;
  /** Where the JSON of the event begins. */
  eventAt: number;
}

/** Looks at the line from `start` to `end` (without its end of line); `wasSound` when its checksum was looked at before. */
export function lookAt(bytes: Buffer, start: number, end: number, facts: LineFacts, wasSound = false): void {
  facts.kind = 'bad';
  const from = start + REST_AT;
  if (end <= from) return;
  if (!wasSound && !isSound(bytes, start, end)) return;
  if (startsWith(bytes, from, SEQ)) {
    let at = from + SEQ.length;
    at = readNumber(bytes, at, facts);
    facts.changesState = startsWith(bytes, at, STATE);
    if (facts.changesState) at += STATE.length - 1;
    facts.eventAt = at + EVENT.length;
    if (isPosition(facts.seq) && startsWith(bytes, at, EVENT)) facts.kind = 'event';
  } else if (startsWith(bytes, from, RESERVE)) {
    const at = readNumber(bytes, from + RESERVE.length, facts);
    if (isPosition(facts.seq) && bytes[at] === CLOSING && at === end - 1) facts.kind = 'reserve';
  } else facts.kind = 'other';
}

/** Whether the checksum of a line fits. */
export function isSound(bytes: Buffer, start: number, end: number): boolean {
  const from = start + REST_AT;
  if (end <= from) return false;
  for (let at = 0; at < SUM_AT; at++) if (bytes[start + at] !== OPENING[at]) return false;
  if (bytes[from - 2] !== 34 || bytes[from - 1] !== COMMA) return false;
  const sum = hexAt(bytes, start + SUM_AT);
  return sum >= 0 && crc32(bytes.subarray(from, end)) === sum;
}

const isPosition = (seq: number): boolean => seq > 0 && seq <= Number.MAX_SAFE_INTEGER;

function readNumber(bytes: Buffer, start: number, facts: LineFacts): number {
  let at = start;
  let value = 0;
  for (let digit = bytes[at] as number; digit >= ZERO && digit <= NINE; digit = bytes[++at] as number) {
    value = value * 10 + digit - ZERO;
  }
  facts.seq = value;
  return at;
}

function startsWith(bytes: Buffer, start: number, word: Buffer): boolean {
  for (let at = 0; at < word.length; at++) if (bytes[start + at] !== word[at]) return false;
  return true;
}

function hexAt(bytes: Buffer, start: number): number {
  let value = 0;
  for (let at = start; at < start + 8; at++) {
    const byte = bytes[at] as number;
    const digit = byte >= ZERO && byte <= NINE ? byte - ZERO : byte >= 97 && byte <= 102 ? byte - 87 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/** The event of a line that was looked at, at the position that the line gives it. Throws `SESSION_DAMAGED` where it is none. */
export function eventIn(bytes: Buffer, { seq, eventAt }: Pick<LineFacts, 'seq' | 'eventAt'>, end: number): AgentEvent {
  let event: AgentEvent | null = null;
  try {
    event = JSON.parse(bytes.toString('utf8', eventAt, end - 1));
  } catch {
    // Told below, as it is of what is no event.
  }
  if (typeof event !== 'object' || event === null) {
    throw new TroupeError({
      code: 'SESSION_DAMAGED',
      message: `the record of event ${seq} has a sound checksum and holds no event: troupe has not written it`,
    });
  }
  if (event.seq !== seq) event.seq = seq;
  return event;
}

/** The header in a line, sound or not; undefined where there is none. */
export function headerIn(bytes: Buffer, start: number, end: number): LogHeader | undefined {
  try {
    const value = JSON.parse(bytes.toString('utf8', start, end)) as Partial<LogHeader & { crc: string }> | null;
    if (value?.troupe !== 'session-log' || typeof value.format !== 'number') return undefined;
    delete value.crc;
    return value as LogHeader;
  } catch {
    return undefined;
  }
}

/** Whether bytes may be the beginning of a record, however few they are. */
export const mayBeginRecord = (bytes: Buffer): boolean =>
  OPENING.subarray(0, bytes.length).equals(bytes.subarray(0, OPENING.length));

/** Where further records may begin in a line that is none: an end of line may have been lost. */
export function recordStarts(bytes: Buffer, start: number, end: number): number[] {
  const starts: number[] = [];
  for (let at = bytes.indexOf(OPENING, start); at >= 0 && at < end; at = bytes.indexOf(OPENING, at + 1))
    starts.push(at);
  return starts;
}
