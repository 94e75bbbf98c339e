import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { describeError } from '../kernel/errors.js';
import { isAmbiguous } from './pattern-ambiguity.js';

const LONGEST = 1_000;

/** A pattern that runs in linear time, whatever the text. */
export interface Pattern {
  readonly source: string;
  /** Anywhere in the text. */
  find(text: string): boolean;
  /** From the beginning of the text. */
  lookingAt(text: string): boolean;
}

let compile: ((source: string) => RE2JS) | undefined;

/** Loaded when the first pattern is read, and at once: rules are checked where they are given. */
function engine(): (source: string) => RE2JS {
  if (compile === undefined) {
    const { RE2JS: re2 } = createRequire(import.meta.url)('re2js') as typeof import('re2js');
    compile = (source) => re2.compile(source);
  }
  return compile;
}

/** The pattern, or why it is none that may be used: it does not parse, it is unsupported, or it could run for ever. */
export function readPolicyPattern(source: string): Pattern | { fault: string } {
  if (source === '') return { fault: 'must not be empty: it would match everything' };
  if (source.length > LONGEST) return { fault: `must not be longer than ${LONGEST} characters` };
  let compiled: RE2JS;
  try {
    compiled = engine()(source);
  } catch (thrown) {
    return { fault: explain(source, describeError(thrown).message) };
  }
  if (isAmbiguous(source)) {
    return { fault: 'a repetition in it can match the same text in very many ways (as in "(a+)+"): write it with one' };
  }
  return {
    source,
    find: (text) => compiled.matcher(text).find(),
    lookingAt: (text) => compiled.matcher(text).lookingAt(),
  };
}

function explain(source: string, message: string): string {
  const said = message.replace(/^error parsing regexp: /, '').replaceAll('`', '"');
  if (/\(\?(?:[=!>]|<[=!])/.test(source)) return `is no pattern here (${said}): there is no looking ahead or behind`;
  if (/\\[1-9]/.test(source)) return `is no pattern here (${said}): there are no references to groups`;
  return `is no pattern (${said})`;
}
