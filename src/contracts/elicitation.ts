import type { Bag, Open } from './open.js';
import type { JsonSchema } from './schema.js';

export type ElicitationKind = Open<
  | 'tool_confirmation'
  | 'model_fallback'
  | 'auth_required'
  | 'clarification'
  | 'user_approval'
  | 'tool_recovery'
  | 'interrupt'
>;

/** Any request from an agent for a person's input. */
export interface ElicitationRequest {
  requestId: string;
  kind: ElicitationKind;
  message: string;
  title?: string;
  display?: Open<'inline' | 'modal'>;
  /** JSON Schema of `content` in the answer. A bad answer is refused with its errors and the request stays open. */
  requestedSchema?: JsonSchema;
  context?: Bag;
  /** ISO 8601. When it passes, the request is answered with `cancel`. */
  expiresAt?: string;
  followUpTo?: string;
  _meta?: Bag;
}

export type ElicitationAction = Open<'accept' | 'decline' | 'cancel'>;

export interface ElicitationResponse {
  requestId: string;
  action: ElicitationAction;
  content?: Bag;
  _meta?: Bag;
}

/** An answer without its id, as given to `respond(requestId, answer)`. */
export type ElicitationAnswer = Omit<ElicitationResponse, 'requestId'>;

/** The one inbox of a tree. */
export interface ElicitationChannel {
  ask(request: Omit<ElicitationRequest, 'requestId'>, options?: { signal?: AbortSignal }): Promise<ElicitationResponse>;
}
