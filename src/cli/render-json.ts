import type { OpenAgentEvent } from '../contracts/index.js';

const unsafe = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** One event as one line of JSON. What could steer a terminal is escaped; a parser reads the same event. */
export function eventLine(event: OpenAgentEvent): string {
  const json = JSON.stringify(event);
  return `${json.replace(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;
}
