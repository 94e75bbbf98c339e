import type { Client } from '@modelcontextprotocol/client';
import type { ToolContext, ToolDefinition, ToolResultData } from '../../contracts/index.js';
import { sameJson } from '../../kernel/json-value.js';
import { type ListedTool, type RunTool, toDefinition } from './listed-tool.js';
import { plainWords } from './plain-words.js';
import { resourceTool } from './resource-tool.js';
import { listTools } from './tool-list.js';

/** The tools of one server as they were listed last, over all its connections. */
export interface ToolShelf {
  /** By name; the same list until something changes. */
  readonly tools: readonly ToolDefinition[];
  /** Whether the server has ever said what it has. */
  readonly isKnown: boolean;
  /** Whether it has, or once had, a tool of that registered name. */
  had(name: string): boolean;
  /** Asks the server. Rejects with what went wrong, and then nothing has changed. */
  list(client: Client, signal: AbortSignal): Promise<void>;
}

export interface ShelfOptions {
  readonly server: Parameters<typeof toDefinition>[0];
  readonly run: RunTool;
  readonly read: (uri: string, call: ToolContext) => Promise<ToolResultData>;
  notify(code: string, text: string): void;
  onChange(): void;
}

/** By the server's own name. */
type Kept = Map<
  string,
  { readonly listed: ListedTool; readonly definition: ToolDefinition; readonly revision: string }
>;

const GONE = 'gone';
/** A server that renames its tools without end is not remembered without end. */
const MOST_REMEMBERED = 10_000;
const LONGEST_FAULT = 200;
const LONGEST_NOTICE = 2_000;

export function createToolShelf({ server, run, read, notify, onChange }: ShelfOptions): ToolShelf {
  const remembered = new Set<string>();
  const reader = resourceTool(server, read);
  let tools: readonly ToolDefinition[] = [];
  let kept: Kept = new Map();
  let isKnown = false;
  let saidLeftOut: string | undefined;

  async function list(client: Client, signal: AbortSignal): Promise<void> {
    const { listed, leftOut } = await listTools(client, signal);
    const next: Kept = new Map();
    const unchecked: string[] = [];
    for (const one of listed) {
      const known = kept.get(one.name);
      if (known !== undefined && sameJson(known.listed, one)) {
        next.set(one.name, known);
        continue;
      }
      const { definition, revision, fault } = await toDefinition(server, one, run);
      if (fault !== undefined) unchecked.push(`${definition.name} (${plainWords(fault, LONGEST_FAULT)})`);
      // A session keeps the tool that it began with: what is said of it may be another by then.
      const now = () => kept.get(one.name)?.revision ?? GONE;
      next.set(one.name, { listed: one, definition: { ...definition, revision: now }, revision });
    }
    signal.throwIfAborted();
    kept = next;
    isKnown = true;
    if (leftOut !== undefined && leftOut !== saidLeftOut) notify('MCP_TOOLS_LEFT_OUT', leftOut);
    saidLeftOut = leftOut;
    if (unchecked.length > 0) {
      const text = `has schemas that cannot be used; arguments are passed unchecked: ${unchecked.join(', ')}`;
      notify('MCP_SCHEMA_UNCHECKED', plainWords(text, LONGEST_NOTICE));
    }
    take(client.getServerCapabilities()?.resources !== undefined);
  }

  function take(hasResources: boolean): void {
    const byName = new Map<string, ToolDefinition>();
    const listed = [...kept.values()].map(({ definition }) => definition);
    // Its own tool of that name stands before ours.
    for (const tool of hasResources ? [...listed, reader] : listed) {
      if (!byName.has(tool.name)) byName.set(tool.name, tool);
      if (remembered.size < MOST_REMEMBERED) remembered.add(tool.name);
    }
    const sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    if (sorted.length === tools.length && sorted.every((tool, index) => tool === tools[index])) return;
    tools = sorted;
    onChange();
  }

  return {
    get tools() {
      return tools;
    },
    get isKnown() {
      return isKnown;
    },
    had: (name) => remembered.has(name),
    list,
  };
}
