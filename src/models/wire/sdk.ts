import { TroupeError } from '../../kernel/errors.js';

/** Imports an optional peer. `MISSING_PACKAGE`, with the command that installs it, when it is not there. */
export async function loadSdk<T>(name: string, version: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const code = (cause as { code?: unknown } | null)?.code;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
    if (!isMissing || !String((cause as Error).message).includes(name)) throw cause;
    throw new TroupeError({
      code: 'MISSING_PACKAGE',
      message: `this model needs the package ${name}, which is not installed: npm i ${name}@${version}`,
      cause,
    });
  }
}

export const missingKey = (model: string, variables: string): TroupeError =>
  new TroupeError({ code: 'MISSING_KEY', message: `the model ${model} needs a key: set ${variables}, or pass apiKey` });

/** The first of these environment variables that is set and not empty. */
export function fromEnvironment(...names: string[]): string | undefined {
  for (const name of names) {
    const value = process.env[name]?.trim();
    if (value) return value;
  }
  return undefined;
}

/** Whether a server of one's own machine is meant. */
export function isLoopback(baseUrl: string): boolean {
  if (!URL.canParse(baseUrl)) return false;
  const { hostname } = new URL(baseUrl);
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    hostname.endsWith('.localhost') ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}
