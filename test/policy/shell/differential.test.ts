import { afterAll, expect, test } from 'vitest';
import { parseCommands } from '../../../src/policy/shell/parse.js';
import { isDangerousVariable } from '../../../src/policy/shell/variables.js';
import { seededRandom } from '../../../src/testing/seeded.js';
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
