import { cutText } from '../../kernel/text.js';

/** Control characters but tab and newline, marks that turn the direction of writing, invisible tags. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Text as it may stand in an event: half a surrogate pair, which is no character, becomes the sign for that. */
export const wellFormed = (text: string): string => text.replace(LONE_SURROGATE, '\ufffd');

/** Words of a server that a person or a model is shown as a name or a description: nothing unseen, not too many. */
export const plainWords = (text: unknown, most: number): string =>
  typeof text === 'string' ? cutText(wellFormed(text).replace(UNSEEN, ''), most).trim() : '';
