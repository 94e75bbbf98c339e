import { afterAll, expect, test } from 'vitest';
import { createPolicyEngine } from '../../../src/policy/engine.js';
import { parseCommands } from '../../../src/policy/shell/parse.js';
import { isDangerousVariable } from '../../../src/policy/shell/variables.js';
import { seededRandom } from '../../../src/testing/seeded.js';
import { adversaryLines } from './adversary-lines.js';
import { commandLine, spoiltLine } from './command-lines.js';
import { givenLines } from './given-lines.js';
import { bash, mayBe, recordingBash } from './recording-bash.js';
import '../../support/process-limit.js';

// Without a bash there is nothing to compare with: the tests say that they were skipped.
const shell = bash === undefined ? undefined : recordingBash();
afterAll(() => shell?.close());

const AT_ONCE = 4;

/** Of a line with these no rule about commands allows anything: whatever it runs was not missed. */
const isWhollyKnown = (commands: ReturnType<typeof parseCommands>) =>
  commands.every(
    ({ unknown, assigns, writes }) =>
      unknown === undefined && !assigns.some(isDangerousVariable) && !writes.some((write) => /^\d*[<>]&/.test(write)),
  );

/** Runs the lines, and tells what ran that was not among the commands of a line that is wholly known. */
async function compare(lines: readonly string[]) {
  const missed: string[] = [];
  const left = [...lines];
  let known = 0;
  let ran = 0;
  const work = async () => {
    for (let line = left.pop(); line !== undefined; line = left.pop()) {
      const commands = parseCommands(line);
      if (line.includes('\0') || !isWhollyKnown(commands)) continue;
      known++;
      for (const words of (await shell?.run(line)) ?? []) {
        ran++;
        if (!commands.some((command) => mayBe(command, words))) {
          missed.push(`${JSON.stringify(line)} ran ${JSON.stringify(words)}`);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { missed, known, ran };
}

/** Runs what a policy that denies one command allows, and tells where that command ran all the same. */
async function evaded(lines: readonly string[], denied: string) {
  const engine = createPolicyEngine([
    { rules: [{ toolName: 'run_shell_command', decision: 'deny', commandPrefix: denied }] },
  ]);
  const evading: string[] = [];
  const left = [...lines];
  let allowed = 0;
  const work = async () => {
    for (let line = left.pop(); line !== undefined; line = left.pop()) {
      if (line.includes('\0')) continue;
      const request = { action: 'run_shell_command', args: { command: line }, context: { mode: 'autonomous' } };
      if ((await engine.evaluate(request)).outcome !== 'allow') continue;
      allowed++;
      for (const [program] of (await shell?.run(line)) ?? []) if (program === denied) evading.push(line);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { evading, allowed };
}

const made = (count: number, make: (random: () => number, starters: readonly string[]) => string, seed: number) => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => make(random, shell?.starters ?? []));
};

test.skipIf(shell === undefined)(
  'every command that bash runs for a line that is easily misread was found by the parser',
  async () => {
    const { missed, known, ran } = await compare(givenLines);
    expect(missed).toEqual([]);
    expect(known).toBeGreaterThan(250);
    expect(ran).toBeGreaterThan(200);
  },
);

test.skipIf(shell === undefined)(
  'every command that bash runs for a line that is made to be misread was found by the parser',
  async () => {
    const { missed, known, ran } = await compare(adversaryLines);
    expect(missed).toEqual([]);
    expect(known).toBeGreaterThan(200);
    expect(ran).toBeGreaterThan(200);
  },
);

test.skipIf(shell === undefined)(
  'every command that bash runs for a generated line was found by the parser',
  async () => {
    const { missed, known, ran } = await compare(made(150, commandLine, 20_261_130));
    expect(missed).toEqual([]);
    expect(known).toBeGreaterThan(50);
    expect(ran).toBeGreaterThan(150);
  },
);

test.skipIf(shell === undefined)(
  'every command that bash runs for a line with a few characters changed was found by the parser',
  async () => {
    const { missed, known, ran } = await compare([
      ...made(250, spoiltLine, 4_711),
      ...made(250, (random) => spoiltLine(random, [], givenLines), 815),
    ]);
    expect(missed).toEqual([]);
    expect(known).toBeGreaterThan(60);
    expect(ran).toBeGreaterThan(60);
  },
);

test.skipIf(shell === undefined)(
  'where one command is denied and all else allowed, no line that is allowed makes bash run that command',
  async () => {
    const lines = [...givenLines, ...adversaryLines, ...made(300, commandLine, 99), ...made(300, spoiltLine, 100)];
    const { evading, allowed } = await evaded(lines, 'touch');
    expect(evading).toEqual([]);
    expect(allowed).toBeGreaterThan(50);
    expect((await evaded(lines, 'rm')).evading).toEqual([]);
  },
);
