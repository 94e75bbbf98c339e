import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ShellCommand, ShellWord } from '../../../src/policy/shell/command.js';

export const bash = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((path) => existsSync(path));

/** Commands that do nothing but write down how they were called. */
export const STUBS = ['s1', 's2', 's3', 's4', 'git', 'ls', 'touch', 'rm'];
/** Real ones, which start others. */
const STARTERS = ['env', 'timeout', 'nice', 'nohup', 'xargs', 'find', 'bash', 'sh', 'setsid', 'stdbuf'];

const STUB = `#!/bin/sh
printf '%s\\0' "\${0##*/}" "$@" > "$RECORDS/$$.$PPID"
`;

/** A bash whose commands are stubs: what ran is known afterwards, and nothing else can run. */
export function recordingBash() {
  const root = mkdtempSync(join(tmpdir(), 'recording-'));
  const bin = join(root, 'bin');
  mkdirSync(bin);
  writeFileSync(join(root, 'stub'), STUB, { mode: 0o755 });
  for (const name of STUBS) symlinkSync(join(root, 'stub'), join(bin, name));
  const starters = STARTERS.filter((name) => {
    const real = [`/usr/bin/${name}`, `/bin/${name}`].find((path) => existsSync(path));
    if (real !== undefined) symlinkSync(real, join(bin, name));
    return real !== undefined;
  });
  let count = 0;
  return {
    starters,
    /** The words of every stub that ran; also those that were still running when the line had ended. */
    async run(line: string): Promise<string[][]> {
      const place = join(root, String(++count));
      const records = join(place, 'records');
      const work = join(place, 'work');
      for (const folder of [place, records, work]) mkdirSync(folder);
      await ended(line, work, { PATH: bin, HOME: work, RECORDS: records, LC_ALL: 'C' });
      // What was ended while it wrote has written nothing.
      const ran = readdirSync(records)
        .map((name) => readFileSync(join(records, name), 'utf8').split('\0').slice(0, -1))
        .filter((words) => words.length > 0);
      rmSync(place, { recursive: true, force: true, maxRetries: 5 });
      return ran;
    },
    close: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Resolves when nothing holds the output of the line any more; what takes too long is ended. */
function ended(line: string, cwd: string, env: Record<string, string>): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(bash as string, ['--noprofile', '--norc', '-c', line], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.resume();
    child.stderr.resume();
    const timer = setTimeout(() => {
      try {
        process.kill(-(child.pid as number), 'SIGKILL');
      } catch {
        // It has gone.
      }
    }, 2_000);
    child.on('close', () => {
      clearTimeout(timer);
      resolve();
    });
    child.on('error', () => resolve());
  });
}

/** Whether a command as it was parsed may have been started with these words. */
export function mayBe({ words }: ShellCommand, argv: readonly string[]): boolean {
  const [name, ...args] = argv;
  const [first, ...rest] = words;
  if (first?.value === undefined || first.value.slice(first.value.lastIndexOf('/') + 1) !== name) return false;
  return fitWords(rest, args);
}

function fitWords([word, ...words]: readonly ShellWord[], args: readonly string[]): boolean {
  if (word === undefined) return args.length === 0;
  const [arg, ...more] = args;
  const fitsOne = arg !== undefined && (word.value === undefined ? arg.startsWith(word.head) : arg === word.value);
  if (fitsOne && fitWords(words, more)) return true;
  if (word.value !== undefined || word.many === 'one') return false;
  // Several words, or none.
  if (fitWords(words, args)) return true;
  return arg !== undefined && (word.many === 'any' || arg.startsWith(word.head)) && fitWords([word, ...words], more);
}
