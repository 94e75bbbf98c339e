import type { Bag } from './open.js';

/** Fields that every part may carry. */
export interface ContentPartBase {
  _meta?: Bag;
}

/**
 * Content parts by `type`. Other modules add their own by declaration merging;
 * a `type` unknown at run time is kept as it is.
 */
export interface ContentParts {
  text: { text: string };
  /** `thoughtSignature` survives a round trip byte for byte. */
  thought: { thought: string; thoughtSignature?: string };
  /** One of `data` (base64) and `uri`. */
  media: { mimeType: string; data?: string; uri?: string };
  /** A citation or a file. */
  reference: { text: string; uri?: string; mimeType?: string; data?: string };
  /** The model declined. */
  refusal: { text: string };
  code: { language: string; code: string };
  code_result: { output: string; exitCode?: number };
  /** Declared UI (A2UI and the like); shown as text where it is not understood. */
  ui: { format: string; data: unknown };
  /** Only inside model history; on the stream it is a `tool_request`. */
  function_call: { name: string; args: unknown; id: string; thoughtSignature?: string };
  /** Only inside model history; on the stream it is a `tool_response`. */
  function_response: { name: string; response: unknown; id: string };
}

export type ContentPartType = keyof ContentParts;

/** The known parts, discriminated by `type`. */
export type ContentPart<T extends ContentPartType = ContentPartType> = {
  [K in T]: ContentPartBase & ContentParts[K] & { type: K };
}[T];

/** A part as it comes from outside: its `type` may be any string. `narrow.ts` turns it into a `ContentPart` or keeps it. */
export type OpenContentPart = ContentPart | (ContentPartBase & { type: string; [key: string]: unknown });
