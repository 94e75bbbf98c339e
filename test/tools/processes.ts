import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Whether a process still does something: one that has ended and waits to be reaped does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !['Z', 'X'].includes(text.slice(text.lastIndexOf(')') + 2)[0] ?? '');
  } catch {
    return false;
  }
}

/** The numbers in a text, as pids. */
export const pidsIn = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number);

/** A named pipe. `write` waits for a reader, `readAll` until the last who could write has gone. */
export function namedPipe(path: string) {
  execFileSync('bash', ['-c', 'mkfifo "$0"', path]);
  return {
    path,
    async write(text: string): Promise<void> {
      const handle = await open(path, 'w');
      await handle.writeFile(text);
      await handle.close();
    },
    async readAll(): Promise<string> {
      const handle = await open(path, 'r');
      try {
        return await handle.readFile('utf8');
      } finally {
        await handle.close();
      }
    },
  };
}
