import { createHash } from 'node:crypto';
import type {
  JsonSchema,
  ToolAnnotations,
  ToolContext,
  ToolDefinition,
  ToolDescriptor,
  ToolResultData,
} from '../../contracts/index.js';
import { canonicalJson, inertJson } from '../../kernel/json-value.js';
import { plainWords } from './plain-words.js';
import { readOutput, readParameters, sizeFault } from './schemas.js';
import { registeredName } from './tool-names.js';

/** One tool as a server lists it: nothing in it can be relied on. */
export interface ListedTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
}

/** Runs one call of one tool of a server. */
export type RunTool = (tool: CallableTool, args: unknown, context: ToolContext) => Promise<ToolResultData>;

export interface CallableTool {
  /** The server's own name for it. */
  readonly name: string;
  /** As it was listed: parameters may be said to travel as headers too. */
  readonly inputSchema: unknown;
  /** What `structuredContent` is held against; undefined: anything. */
  readonly outputSchema: JsonSchema | undefined;
}

const LONGEST_TITLE = 200;
const LONGEST_DESCRIPTION = 10_000;

/** A listed tool as one of ours, a mark of what it says of itself, and why its arguments are not checked, where they are not. */
export async function toDefinition(
  server: { readonly name: string; readonly trust?: boolean | undefined; readonly timeoutMs: number | undefined },
  listed: ListedTool,
  run: RunTool,
): Promise<{ definition: ToolDefinition; revision: string; fault: string | undefined }> {
  const { shown, checked, fault } = await readParameters(listed.inputSchema);
  const outputSchema = await readOutput(listed.outputSchema);
  const name = registeredName(server.name, listed.name);
  const hints = isBag(listed.annotations) ? listed.annotations : {};
  const displayName = plainWords(listed.title, LONGEST_TITLE) || plainWords(hints.title, LONGEST_TITLE);
  const tool: CallableTool = { name: listed.name, inputSchema: listed.inputSchema, outputSchema };
  const saidOutput = sizeFault(listed.outputSchema) === undefined ? listed.outputSchema : undefined;
  const descriptor: ToolDescriptor = {
    name,
    ...(displayName !== '' && { displayName }),
    description:
      plainWords(listed.description, LONGEST_DESCRIPTION) ||
      `${displayName || plainWords(listed.name, LONGEST_TITLE)} (of the MCP server ${plainWords(server.name, LONGEST_TITLE)})`,
    parametersSchema: shown,
    annotations: annotationsOf(hints, server.trust === true),
  };
  return {
    definition: {
      kind: 'tool',
      name,
      mcp: { server: server.name, tool: listed.name },
      descriptor,
      checkedSchema: checked,
      ...(saidOutput !== undefined && { outputSchema: inertJson(saidOutput, 'the output schema') as JsonSchema }),
      ...(server.timeoutMs !== undefined && { timeoutMs: server.timeoutMs }),
      execute: (args: never, context) => run(tool, args, context),
    },
    revision: revisionOf(descriptor, hints),
    fault,
  };
}

/** The same for the same words, also after a restart: what of it is believed is in the descriptor, what is said beside it. */
function revisionOf(descriptor: ToolDescriptor, hints: Record<string, unknown>): string {
  const said = HINTS.map((hint) => (typeof hints[hint] === 'boolean' ? hints[hint] : null));
  return createHash('sha256')
    .update(canonicalJson([descriptor, said]))
    .digest('hex');
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

const isBag = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Only what makes a tool look more dangerous is believed of a server that is not trusted. */
function annotationsOf(hints: Record<string, unknown>, isTrusted: boolean): ToolAnnotations {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = hints;
  return {
    category: 'other',
    ...(isTrusted && readOnlyHint === true && { readOnly: true }),
    ...(isTrusted && idempotentHint === true && { idempotent: true }),
    ...(destructiveHint === true && { destructive: true }),
    ...(isTrusted && destructiveHint === false && { destructive: false }),
    ...(openWorldHint === true && { openWorld: true }),
  };
}
