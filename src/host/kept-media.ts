import { createHash } from 'node:crypto';
import type { AgentEvent, ArtifactStore, ContentPart, ModelMessage, SessionStreamData } from '../contracts/index.js';
import { artifactUri, placeOfArtifact } from '../kernel/artifact-uri.js';
import { describeError } from '../kernel/errors.js';
import type { EventGate } from '../kernel/event-merge.js';
import {
  bringsLargeMedia,
  isArtifactMedia,
  keepLargeMedia,
  mediaAddresses,
  resolveKeptMedia,
} from '../kernel/kept-media.js';
import type { MediaPart } from '../kernel/part-text.js';
import type { MediaKeeper } from './host-core.js';
import { MediaCache } from './media-cache.js';
import { enter, leave, notice } from './session-tree.js';
import type { Thread, Tree } from './thread.js';

/** Where the media of a tree is kept; undefined: it stays where it is. */
export const artifactsOf = ({ handle, host }: Tree): ArtifactStore | undefined =>
  handle === undefined ? undefined : host.store.artifacts;

export const createMediaKeeper = (): MediaKeeper => ({
  cache: new MediaCache(),
  keepFor(tree) {
    if (artifactsOf(tree) !== undefined) tree.merge.passThrough(mediaGate(tree));
  },
  gateOf: mediaGate,
});

function mediaGate(tree: Tree, hooks?: EventGate<Thread>): EventGate<Thread> {
  const keep = (event: AgentEvent, thread: Thread) =>
    bringsLargeMedia(event) && artifactsOf(tree) !== undefined ? withKeptMedia(event, thread) : event;
  return {
    onHeld: hooks?.onHeld ?? ((isHeld) => (isHeld ? enter(tree) : leave(tree))),
    pass(event, thread) {
      const passed = hooks === undefined ? event : hooks.pass(event, thread);
      return passed instanceof Promise ? passed.then((later) => keep(later, thread)) : keep(passed, thread);
    },
  };
}

async function withKeptMedia(event: AgentEvent, thread: Thread): Promise<AgentEvent> {
  if (event.type === 'message') return { ...event, content: await keptParts(thread, event.content) };
  if (event.type !== 'tool_response') return event;
  const { llmContent, displayContent } = event;
  const kept = { ...event, llmContent: await keptParts(thread, llmContent) };
  return displayContent === undefined ? kept : { ...kept, displayContent: await keptParts(thread, displayContent) };
}

/** Parts with large media in the session's artifacts, the same picture once. What cannot be kept stays, and is told. Never rejects. */
export async function keptParts(thread: Thread, parts: readonly ContentPart[]): Promise<ContentPart[]> {
  const artifacts = artifactsOf(thread.tree);
  if (artifacts === undefined) return [...parts];
  const { sessionId } = thread.tree;
  return keepLargeMedia(parts, async (part) => {
    const { data, ...rest } = part;
    if (!BASE64.test(data)) return part;
    try {
      const bytes = Buffer.from(data, 'base64');
      const name = `media/${createHash('sha256').update(bytes).digest('hex')}`;
      const version =
        (await keptBefore(artifacts, sessionId, name, bytes)) ??
        (await artifacts.save(sessionId, name, bytes, part.mimeType)).version;
      return { ...rest, uri: artifactUri(sessionId, name, version) };
    } catch (thrown) {
      const { message } = describeError(thrown);
      notice(thread, 'MEDIA_NOT_KEPT', 'warning', `${part.mimeType} stays in the log, it was not kept: ${message}`);
      return part;
    }
  });
}

const BASE64 = /^[A-Za-z0-9+/\-_\s]*={0,2}\s*$/;

async function keptBefore(artifacts: ArtifactStore, sessionId: string, name: string, bytes: Uint8Array) {
  try {
    const found = await artifacts.load(sessionId, name);
    return found !== undefined && Buffer.compare(found.data, bytes) === 0 ? found.version : undefined;
  } catch {
    return undefined;
  }
}

/** What stands for kept media in a request: the media itself, or words that say that it is gone. */
export type LoadedMedia = ReadonlyMap<string, string | undefined>;

/** Loads what messages refer to, from the artifacts of this session and nowhere else. What is not there is told once. Never rejects. */
export async function loadMedia(thread: Thread, messages: readonly ModelMessage[]): Promise<LoadedMedia> {
  const loaded = new Map<string, string | undefined>();
  for (const uri of mediaAddresses(messages)) loaded.set(uri, await loadOne(thread, uri));
  return loaded;
}

export const withMedia = (messages: readonly ModelMessage[], loaded: LoadedMedia): ModelMessage[] =>
  resolveKeptMedia(messages, (part) => asSent(part, loaded));

/** Messages as they are sent. */
export async function sentMessages(
  thread: Thread,
  messages: readonly ModelMessage[],
): Promise<readonly ModelMessage[]> {
  return withMedia(messages, await loadMedia(thread, messages));
}

/** The same for what an executor is given that keeps the conversation itself. */
export async function sentInbox(thread: Thread, inbox: readonly SessionStreamData[]): Promise<SessionStreamData[]> {
  const sent = async (content: readonly ContentPart[]): Promise<ContentPart[]> => {
    const messages: ModelMessage[] = [{ role: 'user', content: [...content] }];
    return [...(withMedia(messages, await loadMedia(thread, messages))[0]?.content ?? [])];
  };
  return Promise.all(
    inbox.map(async (data): Promise<SessionStreamData> => {
      if (data.kind === 'message' && typeof data.content !== 'string') {
        return data.content.some(isArtifactMedia) ? { ...data, content: await sent(data.content) } : data;
      }
      if (data.kind !== 'tool_result' || !data.result.llmContent.some(isArtifactMedia)) return data;
      return { ...data, result: { ...data.result, llmContent: await sent(data.result.llmContent) } };
    }),
  );
}

function asSent({ uri, ...part }: MediaPart & { uri: string }, loaded: LoadedMedia): ContentPart {
  const data = loaded.get(uri);
  return data === undefined
    ? { type: 'text', text: `[${part.mimeType} that was kept as ${uri} and is not there any more]` }
    : { ...part, data };
}

async function loadOne(thread: Thread, uri: string): Promise<string | undefined> {
  const { tree } = thread;
  const { host, sessionId } = tree;
  const held = host.media.cache.get(tree, uri);
  if (held !== undefined) return held;
  let why = 'nothing is kept there in this session';
  try {
    const place = placeOfArtifact(uri);
    const isOwn = place !== undefined && isPlainName(place.name);
    const found = isOwn ? await artifactsOf(tree)?.load(sessionId, place.name, place.version) : undefined;
    if (found !== undefined) {
      const data = Buffer.from(found.data).toString('base64');
      host.media.cache.set(tree, uri, data);
      return data;
    }
  } catch (thrown) {
    why = describeError(thrown).message;
  }
  const said = told.get(tree) ?? new Set();
  told.set(tree, said);
  if (!said.has(uri)) notice(thread, 'MEDIA_MISSING', 'warning', `the model is not shown ${uri}: ${why}`);
  said.add(uri);
  return undefined;
}

/** Of each tree, what was said to be missing. */
const told = new WeakMap<Tree, Set<string>>();

/** No way out of a folder, in whatever store takes names for paths. */
const isPlainName = (name: string): boolean =>
  name !== '' && !/[\\\0]/.test(name) && !name.startsWith('/') && !name.split('/').includes('..');
