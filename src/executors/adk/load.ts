import { TroupeError } from '../../kernel/errors.js';

/** Imports what stands on ADK. `MISSING_PACKAGE`, with the command that installs it, when it is not there. */
export async function loadAdk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const code = (cause as { code?: unknown } | null)?.code;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
    if (!isMissing || !String((cause as Error).message).includes('@google/adk')) throw cause;
    throw new TroupeError({
      code: 'MISSING_PACKAGE',
      message:
        'an agent with the executor "adk" needs the package @google/adk, which is not installed: npm i @google/adk@2.0.0',
      cause,
    });
  }
}
