import type { ArtifactStore, MemoryStore, ToolResultData } from '../contracts/index.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { LONGEST_OUTPUT, outputLength, wordsOf } from '../kernel/long-output.js';
import { notice, publish } from './session-tree.js';
import type { Thread } from './thread.js';
import type { Call } from './tool-call.js';

/** A session's own artifacts, as its tools see them: those of other sessions are none of their business. */
export class SessionArtifacts implements ArtifactStore {
  constructor(
    private readonly store: ArtifactStore,
    private readonly thread: Thread,
  ) {}

  async save(...[sessionId, name, data, mimeType]: Parameters<ArtifactStore['save']>) {
    const saved = await this.#own(sessionId).save(sessionId, name, data, mimeType);
    const { version, uri } = saved;
    const told = { name, version, uri, ...(mimeType !== undefined && { mimeType }) };
    publish(this.thread, { type: 'custom', kind: 'artifact_delta', data: told, source: 'host' });
    return saved;
  }
  async load(...[sessionId, name, version]: Parameters<ArtifactStore['load']>) {
    return this.#own(sessionId).load(sessionId, name, version);
  }
  async list(sessionId: string) {
    return this.#own(sessionId).list(sessionId);
  }
  async delete(...[sessionId, name, fromVersion]: Parameters<ArtifactStore['delete']>) {
    return this.#own(sessionId).delete(sessionId, name, fromVersion);
  }

  #own(sessionId: string): ArtifactStore {
    if (sessionId === this.thread.tree.sessionId) return this.store;
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `artifacts of session "${sessionId}" are not to be had here: pass on the sessionId of the tool's context`,
    });
  }
}

/** What is remembered about the session's own user; where `isKept` is false nothing is added to it. */
export class UserMemory implements MemoryStore {
  constructor(
    private readonly store: MemoryStore,
    private readonly userId: string,
    private readonly isKept: boolean,
  ) {}

  async add(...[userId, entry]: Parameters<MemoryStore['add']>) {
    const own = this.#own(userId);
    if (this.isKept) await own.add(userId, entry);
  }
  async search(...[userId, query, limit]: Parameters<MemoryStore['search']>) {
    return this.#own(userId).search(userId, query, limit);
  }

  #own(userId: string): MemoryStore {
    if (userId === this.userId) return this.store;
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `memories of user "${userId}" are not to be had here: pass on the userId of the tool's context`,
    });
  }
}

/**
 * A result whose text is too long for a model is kept whole as an artifact of the session, which `outputFile` names. The
 * log has all of it either way. Undefined: there is nothing to keep.
 */
export function keepWhole(call: Call, result: ToolResultData): undefined | Promise<ToolResultData> {
  const { tree } = call.thread;
  const { artifacts } = tree.host.store;
  if (outputLength(result.llmContent) <= LONGEST_OUTPUT || result.outputFile !== undefined) return undefined;
  if (artifacts === undefined || tree.handle === undefined) return undefined;
  return saveOutput(call, result, artifacts);
}

async function saveOutput(call: Call, result: ToolResultData, artifacts: ArtifactStore): Promise<ToolResultData> {
  const text = result.llmContent.map((part) => wordsOf(part) ?? '').join('\n');
  const own = new SessionArtifacts(artifacts, call.thread);
  try {
    const { uri } = await own.save(call.thread.tree.sessionId, `output/${call.requestId}`, text, 'text/plain');
    return { contentLength: text.length, outputFile: uri, ...result };
  } catch (thrown) {
    const { message } = describeError(thrown);
    notice(call.thread, 'OUTPUT_NOT_KEPT', 'warning', `the long output of ${call.name} was not kept: ${message}`);
    return result;
  }
}
