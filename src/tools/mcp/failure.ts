import type { ToolResultData } from '../../contracts/index.js';
import { errorResult } from '../../kernel/tool-result.js';
import { plainWords } from './plain-words.js';

/** What went wrong with a server, in words that a model and a person can use. */
export class McpFailure extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = 'McpFailure';
  }
}

/** The code of an answer that we make ourselves where a server's is missing: from the range left to implementations. */
export const OWN_ERROR = -32_099;

const LONGEST = 1_000;

/** Anything that the client throws, without names of classes, stacks, and more than a person would read. */
export function sayFailure(thrown: unknown): string {
  if (!(thrown instanceof Error)) return plainWords(String(thrown), LONGEST);
  const said = plainWords(thrown.message, LONGEST);
  // Its own words say it all.
  const cause = thrown instanceof McpFailure ? undefined : thrown.cause;
  const inner = cause instanceof Error ? plainWords(cause.message, LONGEST) : '';
  return inner === '' || said.includes(inner) ? said || thrown.name : `${said} (${inner})`;
}

export const failedResult = (server: string, why: string): ToolResultData =>
  errorResult('mcp_tool_error', `the MCP server "${server}" ${why}`);
