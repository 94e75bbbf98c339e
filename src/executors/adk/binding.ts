import type { LlmAgent } from '@google/adk';
import type { AdkSession } from './session.js';

/** One agent as a host has read it: its tools find the session that they are called in. */
export class AdkBinding {
  readonly sessions = new Map<string, AdkSession>();

  /** `make`: a factory, asked once for each session; the first of its agents was asked what they have. */
  constructor(
    readonly agent: LlmAgent,
    readonly make?: (() => unknown) | undefined,
  ) {}
}

export const sessionKey = ({ sessionId, threadId }: { sessionId: string; threadId: string | undefined }): string =>
  threadId === undefined ? sessionId : `${sessionId}/${threadId}`;
