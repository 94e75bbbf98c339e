import type { ToolErrorType, ToolResultData } from '../../contracts/index.js';

/** A call that cannot be carried out: what the model is told, and under which `errorType`. */
export class WorkspaceRefusal extends Error {
  readonly errorType: ToolErrorType;

  constructor(errorType: ToolErrorType, sentence: string) {
    super(sentence);
    this.name = 'WorkspaceRefusal';
    this.errorType = errorType;
  }
}

/** `path` quoted for a sentence: control characters and quotes are escaped, so that a name cannot forge a line. */
export const quoted = (path: string): string => JSON.stringify(path);

const REASONS: Readonly<Record<string, { errorType: ToolErrorType; reason: string }>> = {
  ENOENT: { errorType: 'file_not_found', reason: 'does not exist' },
  ENOTDIR: { errorType: 'file_not_found', reason: 'does not exist: a part of the path is not a folder' },
  EACCES: { errorType: 'execution_failed', reason: 'cannot be read: permission denied' },
  EPERM: { errorType: 'execution_failed', reason: 'cannot be read: not permitted' },
  ELOOP: { errorType: 'execution_failed', reason: 'is a symbolic link that leads nowhere but to itself' },
  ENAMETOOLONG: { errorType: 'file_not_found', reason: 'does not exist: the name is too long' },
  EISDIR: { errorType: 'execution_failed', reason: 'is a folder' },
  EMFILE: { errorType: 'execution_failed', reason: 'cannot be read: too many files are open' },
  ENXIO: { errorType: 'execution_failed', reason: 'is not a regular file' },
};

/** The code of a file system error, such as `ENOENT`. */
export function fsCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

const WRITE_REASONS: Readonly<Record<string, { errorType: ToolErrorType; reason: string }>> = {
  ENOENT: { errorType: 'execution_failed', reason: 'cannot be written: its folder is gone' },
  ENOTDIR: { errorType: 'execution_failed', reason: 'cannot be written: a part of the path is not a folder' },
  EACCES: { errorType: 'execution_failed', reason: 'cannot be written: permission denied' },
  EPERM: { errorType: 'execution_failed', reason: 'cannot be written: not permitted' },
  EROFS: { errorType: 'execution_failed', reason: 'cannot be written: the file system is read-only' },
  ELOOP: { errorType: 'execution_failed', reason: 'was replaced by a symbolic link while it was written' },
  ENAMETOOLONG: { errorType: 'execution_failed', reason: 'cannot be written: the name is too long' },
  EMFILE: { errorType: 'execution_failed', reason: 'cannot be written: too many files are open' },
  ENOSPC: { errorType: 'no_space_left', reason: 'cannot be written: there is no space left on the disk' },
  EDQUOT: { errorType: 'no_space_left', reason: 'cannot be written: the quota of the disk is used up' },
};

/** A file system error about `path` as a refusal that shows no machine path. Anything else comes back as it is. */
export const refusalFor = (thrown: unknown, path: string): unknown => refusalBy(REASONS, thrown, path, 'read');

/** The same for an error on writing. A full disk is told apart, as it ends a run. */
export const writeRefusalFor = (thrown: unknown, path: string): unknown =>
  refusalBy(WRITE_REASONS, thrown, path, 'written');

function refusalBy(reasons: typeof REASONS, thrown: unknown, path: string, done: string): unknown {
  const code = fsCode(thrown);
  if (code === undefined || thrown instanceof WorkspaceRefusal) return thrown;
  const known = reasons[code];
  return known
    ? new WorkspaceRefusal(known.errorType, `${quoted(path)} ${known.reason}.`)
    : new WorkspaceRefusal('execution_failed', `${quoted(path)} cannot be ${done} (${code}).`);
}

/** An error result of one sentence. */
export function refused(errorType: ToolErrorType, sentence: string): ToolResultData {
  return { llmContent: [{ type: 'text', text: sentence }], isError: true, errorType };
}
