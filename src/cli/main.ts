#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { type CommandIo, createPipe, showCursor } from './command-io.js';
import { runProgram } from './program.js';
import { reportError } from './report-error.js';

const io: CommandIo = {
  stdin: process.stdin,
  stdout: createPipe(process.stdout),
  stderr: createPipe(process.stderr),
  env: process.env,
  cwd: process.cwd(),
  now: () => Date.now(),
  onSignal(signal, handler) {
    process.on(signal, handler);
    return () => process.off(signal, handler);
  },
  exitNow: (code) => process.exit(code),
};

// Code of a team may throw where nobody listens: the process ends as after any other fault, with one sentence.
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (thrown: unknown) => {
    if (io.stderr.isTTY) void io.stderr.write(showCursor);
    process.exit(reportError(thrown, io));
  });

const code = await runProgram({ args: process.argv.slice(2), io, version: packageVersion() });
await Promise.all([io.stdout.flush(), io.stderr.flush()]);
process.exit(code);

/** From the package that this file lies in, as source or as built. */
function packageVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const manifest = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (manifest.name === 'troupe' && manifest.version !== undefined) return manifest.version;
    } catch {
      // Not there: the next one.
    }
  }
  return 'unknown';
}
