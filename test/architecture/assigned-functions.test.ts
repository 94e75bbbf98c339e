import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readImportGraph } from './import-graph.js';

/**
 * V8 takes a function that is written straight behind `object.property =` for a method of something that lasts, and
 * makes it in its old space. One that is made per turn then keeps the whole turn until the next full collection, which
 * doubles what a short run costs. `const stop = () => …; run.stop = stop;` is made where other values are.
 */
const ASSIGNED =
  /[\w)\]]\??\.#?\w+ (?:\?\?)?= (?:async )?(?:function\b|(?:\w+|\((?:[^()]|\([^()]*\))*\))(?:: [^=;]+)? =>)/g;
const HOT = /^(?:src\/(?:kernel|host(?!\/recovery)|executors\/local|hooks|policy)|machines|compositions)\//;

const assignedIn = (source: string): string[] => source.match(ASSIGNED) ?? [];

test('no function is made right where it is assigned to a property, on the way of every run', () => {
  const files = [...readImportGraph().keys()].filter((file) => HOT.test(file));
  expect(files.length).toBeGreaterThan(80);
  expect(files.flatMap((file) => assignedIn(readFileSync(file, 'utf8')).map((found) => `${file}: ${found}`))).toEqual(
    [],
  );
});

test('what is looked for is found, and nothing else', () => {
  const found = [
    'run.stop = () => {}',
    'a.b.c = (how: (x: number) => void): void => {',
    'this.#x ??= async (a) => a',
    'job.f = x => x',
    'o?.f = function () {}',
  ];
  for (const source of found) expect(assignedIn(source), source).toHaveLength(1);
  const others = [
    'const stop = () => {}',
    'readonly #onSignal = (event: Event): void => {',
    'run.cancel = schedule(() => end(), 5)',
    'run.stop = stop',
    'x.total = list.filter((one) => one)',
    'if (a.b === c) return () => d',
  ];
  for (const source of others) expect(assignedIn(source), source).toEqual([]);
});
