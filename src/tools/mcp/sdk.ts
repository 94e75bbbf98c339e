import { TroupeError } from '../../kernel/errors.js';

export type Sdk = typeof import('@modelcontextprotocol/client');

const PACKAGE = '@modelcontextprotocol/client';

/** The official client. `MISSING_PACKAGE`, with the command that installs it, when it is not there. */
export async function loadSdk(load: () => Promise<Sdk> = () => import('@modelcontextprotocol/client')): Promise<Sdk> {
  try {
    return await load();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
    if (!isMissing || !String(message).includes(PACKAGE)) throw cause;
    throw new TroupeError({
      code: 'MISSING_PACKAGE',
      message: `MCP servers need the package ${PACKAGE}, which is not installed: npm i ${PACKAGE}@2.4.0`,
      cause,
    });
  }
}
