import type { LlmRequest } from '@google/adk';
import type { GenerateContentConfig, ToolUnion } from '@google/genai';
import type { ModelRequest, ToolDescriptor } from '../../contracts/index.js';
import { applyModelRequest, toModelRequest } from './translate.js';

const PREFIX = 'provider:';
/** One tool under two names: that of older models. */
const SAME: Readonly<Record<string, string>> = { google_search_retrieval: 'google_search' };

/** What stands in one place among the tools of a request; whatever is no declared function, the provider runs. */
type Entry = Record<string, unknown>;

/**
 * Leaves in a request of ADK those tools of the provider that `allows` says yes to, by names such as
 * `provider:google_search`: an agent's own tools, its code executor and its callbacks put them there, as they like.
 */
export function keepProvided(config: GenerateContentConfig, allows: (name: string) => boolean): void {
  if (config.tools === undefined) return;
  const left = config.tools.flatMap((tool): ToolUnion[] => {
    const entry = tool as unknown as Entry;
    const refused = keysOf(entry).filter((key) => !allows(nameOf(entry, key)));
    if (refused.length === 0) return [tool];
    const rest = Object.fromEntries(Object.entries(entry).filter(([key]) => !refused.includes(key)));
    return isCallable(entry) || Object.keys(rest).length === 0 ? [] : [rest];
  });
  if (left.length > 0) config.tools = left;
  else delete config.tools;
}

/** Adds tools of the provider that are not there, by our names of them. */
export function addProvided(config: GenerateContentConfig, tools: ModelRequest['tools']): void {
  const there = new Set(providedIn(config));
  for (const { name, annotations } of tools ?? []) {
    if (annotations?.providerExecuted !== true || there.has(name)) continue;
    const key = name.slice(PREFIX.length).replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    config.tools = [...(config.tools ?? []), { [key]: {} }];
  }
}

/** The tools of the provider in a request of ADK, as a model of ours is told of them. */
export const providedTools = (config: GenerateContentConfig | undefined): ToolDescriptor[] =>
  [...new Set(providedIn(config))].map((name) => ({
    name,
    description: 'Run by the provider of the model.',
    parametersSchema: { type: 'object' },
    annotations: { category: 'other', providerExecuted: true },
  }));

/** A request of ADK as hooks and models of the host see it: what the provider runs stands among its tools. */
export function requestWithProvided(asked: LlmRequest, own: Pick<ModelRequest, 'signal' | '_meta'>): ModelRequest {
  const request = toModelRequest(asked, own);
  const provided = providedTools(asked.config);
  if (provided.length > 0) request.tools = [...(request.tools ?? []), ...provided];
  return request;
}

/** What a hook made of a request, put back into ADK's; tools of the provider that it left out are left out. */
export function applyChanges(asked: LlmRequest, changed: ModelRequest): void {
  const { tools = [], allowedTools, toolMode } = changed;
  const offered = toolMode === 'none' ? [] : tools.map(({ name }) => name);
  const left = new Set(allowedTools === undefined ? offered : offered.filter((name) => allowedTools.includes(name)));
  applyModelRequest(asked, changed);
  if (asked.config !== undefined) keepProvided(asked.config, (name) => left.has(name));
}

const providedIn = (config: GenerateContentConfig | undefined): string[] =>
  (config?.tools ?? []).flatMap((tool) => {
    const entry = tool as unknown as Entry;
    return keysOf(entry).map((key) => nameOf(entry, key));
  });

/** The client of the provider would call it by itself. */
const isCallable = (entry: Entry): boolean => typeof entry.callTool === 'function';

function keysOf(entry: Entry): string[] {
  if (isCallable(entry)) return ['callTool'];
  return Object.keys(entry).filter(
    (key) => key !== 'functionDeclarations' && entry[key] !== undefined && entry[key] !== null,
  );
}

function nameOf(entry: Entry, key: string): string {
  if (isCallable(entry)) return `${PREFIX}callable_tool`;
  const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return PREFIX + (SAME[name] ?? name);
}
