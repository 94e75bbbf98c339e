import { badUse } from './report-error.js';

/** What a line of a chat is: words for the team, or a command to the chat itself. */
export type ChatLine =
  | { kind: 'nothing' }
  | { kind: 'message'; text: string }
  | { kind: 'command'; name: ChatCommandName; rest: string }
  | { kind: 'unknown'; name: string };

const names = ['plan', 'mode', 'model', 'fork', 'rewind', 'help', 'exit'] as const;
export type ChatCommandName = (typeof names)[number];

/** Words that begin with a slash are typed with two. */
export function readChatLine(line: string): ChatLine {
  const text = line.trim();
  if (text === '') return { kind: 'nothing' };
  if (text.startsWith('//')) return { kind: 'message', text: text.slice(1) };
  if (!text.startsWith('/')) return { kind: 'message', text };
  const [word = '', ...rest] = text.slice(1).split(/\s+/);
  const name = names.find((one) => one === word);
  return name === undefined ? { kind: 'unknown', name: word } : { kind: 'command', name, rest: rest.join(' ') };
}

export const chatHelp: readonly string[] = [
  '/plan             plan mode: only what changes nothing; once more: back to the mode before',
  '/mode <mode>      permission mode: default, auto_edit, autonomous, plan or dont_ask',
  '/model <model>    the model of every agent from here on',
  '/fork [seq]       goes on in a session of its own, from here or a position',
  '/rewind [n]       takes back the last exchange, or the last n',
  '/rewind to <seq>  takes back all behind a position',
  '/help             this',
  '/exit             ends the chat; the session stays',
  'A line that begins with // is said with one slash.',
  'While a run is on, what is typed steers it; Ctrl-C stops it.',
];

/** A position of a log. */
export function seqOf(text: string): number {
  const seq = Number(text);
  if (Number.isSafeInteger(seq) && seq > 0) return seq;
  throw badUse(`a position is the seq of an event, not "${text}"`);
}

/** How many exchanges; one where nothing is said. */
export function countOf(text: string): number {
  const count = text === '' ? 1 : Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw badUse(`/rewind takes a number of exchanges, or "to" and a position, not "${text}"`);
}
