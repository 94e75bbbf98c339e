import { canonicalJson } from './json-value.js';

/** `warn`: the model is to be told, once. `stop`: it was told and goes on; the run fails with `LOOP_DETECTED`. */
export type LoopVerdict = 'ok' | 'warn' | 'stop';

/** The same call, with the same arguments, so many times in a row. */
export const SAME_CALL_LIMIT = 5;
/** Two calls in turn (A B A B A B): so many calls, which is the pair three times over. */
export const ALTERNATION_LIMIT = 6;
/** The same sentence so many times, with no other call and at most `SENTENCE_REACH` other long sentences in between. */
export const SENTENCE_LIMIT = 5;
export const SENTENCE_REACH = 8;
/** Shorter sentences repeat in good faith. Characters. */
export const SENTENCE_LENGTH = 40;

/** What is remembered, as JSON: a few short texts, whatever the length of the run. */
export interface LoopSnapshot {
  last?: string;
  beforeLast?: string;
  /** How often `last` came in a row. */
  streak: number;
  /** How many of the latest calls are the last two in turn. */
  alternation: number;
  /** Long sentences so far, counted up to where the counts were cleared. */
  sentence: number;
  /** Key, count, and place of the latest occurrence, oldest place first. */
  sentences: [key: string, count: number, at: number][];
  warned: boolean;
  warnedTurn?: number;
}

export interface LoopDetector {
  /**
   * One tool call, before it runs. The order of keys in `args` does not count. `turn` is the number of the model call
   * that asked for it: further detections in the turn of the warning are `ok`, as the model has not been told yet.
   * Without `turn` each call stands for a turn of its own. The first detection warns, any later one stops.
   */
  toolCall(name: string, args: unknown, turn?: number): LoopVerdict;
  /** One whole message of the model. Code blocks and table rows are passed over. */
  text(message: string, turn?: number): LoopVerdict;
  /** Forgets all, the warning included: a new run. */
  reset(): void;
  snapshot(): LoopSnapshot;
  /** Goes on from a snapshot. What is no snapshot counts as none. */
  restore(snapshot: unknown): void;
}

/** `exempt`: calls of these tools (polling) are neither counted nor do they end a row of other calls. */
export function createLoopDetector(options: { exempt?: (toolName: string) => boolean } = {}): LoopDetector {
  const { exempt = () => false } = options;
  let state = emptySnapshot();

  const judge = (looping: boolean, turn: number | undefined): LoopVerdict => {
    if (!looping) return 'ok';
    if (state.warned) return turn !== undefined && turn === state.warnedTurn ? 'ok' : 'stop';
    state.warned = true;
    if (turn !== undefined) state.warnedTurn = turn;
    return 'warn';
  };

  return {
    toolCall(name, args, turn) {
      if (exempt(name)) return 'ok';
      return judge(countCall(state, shortKey(`${name} ${canonicalJson(args)}`)), turn);
    },
    text(message, turn) {
      let looping = false;
      for (const sentence of longSentences(message)) looping = countSentence(state, shortKey(sentence)) || looping;
      return judge(looping, turn);
    },
    reset() {
      state = emptySnapshot();
    },
    snapshot: () => structuredClone(state),
    restore(snapshot) {
      state = isSnapshot(snapshot) ? structuredClone(snapshot) : emptySnapshot();
    },
  };
}

const emptySnapshot = (): LoopSnapshot => ({ streak: 0, alternation: 0, sentence: 0, sentences: [], warned: false });

function countCall(state: LoopSnapshot, key: string): boolean {
  const { last, beforeLast } = state;
  const isNew = key !== last && key !== beforeLast;
  if (key === last) {
    state.streak += 1;
    state.alternation = 1;
  } else {
    state.streak = 1;
    state.alternation = key === beforeLast ? state.alternation + 1 : last === undefined ? 1 : 2;
    state.beforeLast = last;
    state.last = key;
  }
  // Something else is being done: what is said beside it is no loop.
  if (isNew) state.sentences = [];
  return state.streak >= SAME_CALL_LIMIT || state.alternation >= ALTERNATION_LIMIT;
}

function countSentence(state: LoopSnapshot, key: string): boolean {
  const at = ++state.sentence;
  const known = state.sentences.find(([other]) => other === key);
  const count = (known?.[1] ?? 0) + 1;
  // What is out of reach can be forgotten, so the list stays as short as the reach.
  state.sentences = state.sentences.filter((entry) => entry !== known && at - entry[2] <= SENTENCE_REACH);
  state.sentences.push([key, count, at]);
  return count >= SENTENCE_LIMIT;
}

const CODE_BLOCK = /^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^ {0,3}\1[`~]*[ \t]*$|$(?![\s\S]))/gm;
const SENTENCE_END = /(?<=[.!?]["')\]]?)\s+|(?<=[。！？])|\n+/u;

function* longSentences(message: string): Generator<string, void> {
  for (const piece of message.replace(CODE_BLOCK, '\n').split(SENTENCE_END)) {
    const sentence = piece.replace(/\s+/g, ' ').trim();
    if (sentence.length >= SENTENCE_LENGTH && !sentence.startsWith('|')) yield sentence;
  }
}

const LONGEST_KEY = 64;

/** Short text as it is; of longer text its length and 64 bits that depend on all of it. */
function shortKey(text: string): string {
  if (text.length <= LONGEST_KEY) return text;
  let high = 0x9e3779b9;
  let low = 0x85ebca6b;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 0x01000193) + (low >>> 15);
    low = Math.imul(low + unit, 0xc2b2ae35) ^ (high >>> 13);
  }
  return `${text.length}:${(high >>> 0).toString(36)}:${(low >>> 0).toString(36)}:${text.slice(0, 24)}`;
}

function isSnapshot(value: unknown): value is LoopSnapshot {
  if (typeof value !== 'object' || value === null) return false;
  const { streak, alternation, sentence, sentences, warned } = value as Partial<LoopSnapshot>;
  return (
    [streak, alternation, sentence].every(Number.isSafeInteger) &&
    typeof warned === 'boolean' &&
    Array.isArray(sentences) &&
    sentences.every((entry) => Array.isArray(entry) && typeof entry[0] === 'string' && Number.isSafeInteger(entry[1]))
  );
}
