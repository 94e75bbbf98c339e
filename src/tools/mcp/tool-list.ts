import type { Client } from '@modelcontextprotocol/client';
import { NO_TIMEOUT } from './connection.js';
import type { ListedTool } from './listed-tool.js';

const MOST_PAGES = 100;
const MOST_TOOLS = 1_000;
const LONGEST_NAME = 1_000;

/** Each tool is looked at by itself: one that is wrong is left out, not all of them. */
const ANYTHING = {
  '~standard': { version: 1 as const, vendor: 'troupe', validate: (value: unknown) => ({ value }) },
};

/**
 * All tools that a server lists, the first of each name, and what was left out, in words. A list that does not end is
 * cut after 100 pages or 1,000 tools.
 */
export async function listTools(
  client: Client,
  signal: AbortSignal,
): Promise<{ listed: ListedTool[]; leftOut: string | undefined }> {
  const listed = new Map<string, ListedTool>();
  let dropped = 0;
  let isEndless = false;
  if (client.getServerCapabilities()?.tools !== undefined) {
    const cursors = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await askForPage(client, cursor, signal);
      for (const tool of Array.isArray(page.tools) ? page.tools : []) {
        if (isListed(tool) && !listed.has(tool.name)) listed.set(tool.name, tool);
        else dropped++;
      }
      if (typeof page.nextCursor !== 'string' || page.nextCursor === '') break;
      cursor = page.nextCursor;
      isEndless = cursors.has(cursor) || cursors.size + 1 >= MOST_PAGES || listed.size >= MOST_TOOLS;
      if (isEndless) break;
      cursors.add(cursor);
    }
  }
  const said = [
    dropped > 0 ? `lists ${dropped} tools that are none, or that it has listed before; they are left out` : '',
    isEndless || listed.size > MOST_TOOLS ? 'has a list of tools that does not end; the rest is left out' : '',
  ].filter((words) => words !== '');
  return {
    listed: [...listed.values()].slice(0, MOST_TOOLS),
    leftOut: said.length > 0 ? said.join('; it ') : undefined,
  };
}

async function askForPage(
  client: Client,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ tools?: unknown; nextCursor?: unknown }> {
  const request = { method: 'tools/list', ...(cursor !== undefined && { params: { cursor } }) };
  try {
    const page = await client.request(request, ANYTHING, { signal, timeout: NO_TIMEOUT });
    return typeof page === 'object' && page !== null ? page : {};
  } catch (thrown) {
    throw signal.aborted ? signal.reason : thrown;
  }
}

const isListed = (tool: unknown): tool is ListedTool =>
  typeof tool === 'object' &&
  tool !== null &&
  'name' in tool &&
  typeof tool.name === 'string' &&
  tool.name.trim() !== '' &&
  tool.name.length <= LONGEST_NAME;
