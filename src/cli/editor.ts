import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { badUse } from './report-error.js';

/** What a person is given to edit: a text, and the ending that tells an editor what it is (`.md`). */
export interface Editable {
  readonly text: string;
  readonly extension: string;
}

/**
 * Opens a text in `$VISUAL`, `$EDITOR` or vi, in the terminal, and resolves with what is saved. Rejects with a
 * `TroupeError` when the editor cannot be started or fails, and when `signal` fires; the file is gone then too.
 */
export async function editText(
  { text, extension }: Editable,
  options: { env: Readonly<Record<string, string | undefined>>; signal: AbortSignal },
): Promise<string> {
  const { env, signal } = options;
  const editor = env.VISUAL || env.EDITOR || 'vi';
  const folder = await mkdtemp(join(tmpdir(), 'troupe-edit-'));
  try {
    const file = join(folder, `edit${/^\.\w{1,12}$/.test(extension) ? extension : '.txt'}`);
    await writeFile(file, text, { mode: 0o600, flag: 'wx' });
    await runEditor(editor, file, { env, signal });
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The variable may hold options: it is the beginning of a command line. In the place of its shell, so that both end. */
function runEditor(
  editor: string,
  file: string,
  { env, signal }: { env: Readonly<Record<string, string | undefined>>; signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(badUse(`the editor ${editor} ${why}; set $EDITOR to another one`));
    // Standard output may be a file: the terminal is where questions are asked.
    const child = spawn('sh', ['-c', `exec ${editor} "$1"`, 'edit', file], { env, stdio: [0, 2, 2], signal });
    child.on('error', (error) => fail(signal.aborted ? 'was closed' : `cannot be started (${error.message})`));
    child.on('close', (code) => (code === 0 ? resolve() : fail(`ended with ${code ?? 'a signal'}`)));
  });
}
