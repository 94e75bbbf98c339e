import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), 'web');
const TYPES: Readonly<Record<string, string>> = {
  '/assets/app.js': 'text/javascript; charset=utf-8',
  '/assets/app.css': 'text/css; charset=utf-8',
};
const TOKEN = '__TROUPE_TOKEN__';

export interface PageFile {
  readonly body: string;
  readonly type: string;
}

/** A file of the page by the path of its request; undefined: there is no such file. */
export async function pageFile(path: string, token: string): Promise<PageFile | undefined> {
  if (path === '/' || path === '/index.html') {
    const body = await readPage(join(folder, 'index.html'));
    // The token came with the request: who reads this page has it.
    return { body: body.replaceAll(TOKEN, encodeURIComponent(token)), type: 'text/html; charset=utf-8' };
  }
  const type = TYPES[path];
  return type === undefined ? undefined : { body: await readPage(join(folder, path)), type };
}

async function readPage(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return '<!doctype html><title>Troupe Studio</title><p>The page of Studio was not built: npm run build.</p>';
  }
}
