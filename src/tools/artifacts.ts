import type { ArtifactStore, ToolContext, ToolDefinition, ToolResultData } from '../contracts/index.js';
import { placeOfArtifact } from '../kernel/artifact-uri.js';
import { errorResult } from '../kernel/tool-result.js';

const MOST_CHARACTERS = 30_000;

interface ReadArgs {
  name: string;
  version?: number;
  offset?: number;
  limit?: number;
}

/**
 * `read_artifact` and `list_artifacts`: read-only, over the artifacts of the session that calls them. An agent that has
 * them can read on where a long output was shortened.
 */
export function artifactTools(): ToolDefinition[] {
  return [readArtifact, listArtifacts];
}

const readArtifact: ToolDefinition = {
  kind: 'tool',
  name: 'read_artifact',
  descriptor: {
    name: 'read_artifact',
    displayName: 'Read artifact',
    description:
      `Reads a text that was kept in this session, such as the whole of an output that was shortened: up to ` +
      `${MOST_CHARACTERS} characters at once. Takes its name or its artifact: address.`,
    parametersSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, description: 'Its name, or its address that begins with artifact:' },
        version: { type: 'integer', minimum: 1, description: 'Default: the newest.' },
        offset: { type: 'integer', minimum: 0, description: 'Characters to pass over. Default 0.' },
        limit: { type: 'integer', minimum: 1, maximum: MOST_CHARACTERS, description: `Default ${MOST_CHARACTERS}.` },
      },
      required: ['name'],
      additionalProperties: false,
    },
    annotations: { readOnly: true, category: 'read' },
  },
  execute: async (args: ReadArgs, { artifacts, sessionId }: Pick<ToolContext, 'artifacts' | 'sessionId'>) => {
    if (artifacts === undefined) return nothingKept();
    const { name, version } = placeOf(args);
    const found = await artifacts.load(sessionId, name, version);
    if (found === undefined) return unknown(artifacts, sessionId, name, version);
    if (found.mimeType !== undefined && !/^text\/|json$|xml$/.test(found.mimeType)) {
      return errorResult('execution_failed', `"${name}" is ${found.mimeType}, no text`);
    }
    return window(new TextDecoder().decode(found.data), args);
  },
};

const listArtifacts: ToolDefinition = {
  kind: 'tool',
  name: 'list_artifacts',
  descriptor: {
    name: 'list_artifacts',
    displayName: 'List artifacts',
    description: 'Names and versions of what was kept in this session.',
    parametersSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnly: true, category: 'read' },
  },
  execute: async (_args: object, { artifacts, sessionId }: Pick<ToolContext, 'artifacts' | 'sessionId'>) =>
    artifacts === undefined ? nothingKept() : artifacts.list(sessionId),
};

const nothingKept = () => errorResult('execution_failed', 'nothing is kept in this session');

/** An address names both. */
function placeOf({ name, version }: ReadArgs): { name: string; version: number | undefined } {
  const place = placeOfArtifact(name);
  return place === undefined ? { name, version } : { name: place.name, version: version ?? place.version };
}

async function unknown(
  artifacts: ArtifactStore,
  sessionId: string,
  name: string,
  version: number | undefined,
): Promise<ToolResultData> {
  const names = (await artifacts.list(sessionId)).map((one) => `${one.name} (${one.versions.join(', ')})`);
  const which = version === undefined ? `"${name}"` : `version ${version} of "${name}"`;
  return errorResult('file_not_found', `nothing is kept as ${which}; there is: ${names.join(', ') || 'nothing'}`);
}

function window(text: string, { offset = 0, limit = MOST_CHARACTERS }: ReadArgs): ToolResultData {
  const from = whole(text, Math.min(offset, text.length));
  const to = whole(text, Math.min(from + limit, text.length));
  const data = { offset: from, end: to, length: text.length };
  const shown = { type: 'text' as const, text: text.slice(from, to) };
  if (to >= text.length) return { llmContent: [shown], data };
  const note = `[characters ${from} to ${to} of ${text.length}; read on with offset ${to}]`;
  return { llmContent: [shown, { type: 'text', text: note }], data };
}

/** Not within a character that takes two. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at;
}
