import { ModelError } from '../../kernel/errors.js';

/** What a call ends with when its signal fired, before or after it went out. */
export const cancelled = (cause?: unknown): ModelError =>
  new ModelError({ code: 'CANCELLED', message: 'the model call was cancelled', cause });
