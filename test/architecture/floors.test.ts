import { describe, expect, test } from 'vitest';
import { floorViolations } from './floors.js';
import { type Import, readSources } from './import-graph.js';

test('every file keeps to its floor', () => {
  expect(floorViolations(readSources())).toEqual([]);
});

describe('the table of floors refuses', () => {
  const cases: [file: string, target: string, kind: Import['kind'], rule: string][] = [
    ['src/contracts/a.ts', 'src/contracts/b.ts', 'value', 'contracts emit no code: use import type'],
    ['src/contracts/a.ts', 'src/kernel/b.ts', 'type', 'floor 0 contracts may not reach floor 1 kernel'],
    ['src/contracts/a.ts', 'xstate', 'type', 'floor 0 contracts may import no package'],
    ['src/kernel/a.ts', 'xstate', 'value', 'floor 1 kernel may import ajv'],
    ['src/kernel/a.ts', 'node:fs/promises', 'value', 'floor 1 kernel does no input or output'],
    ['src/kernel/a.ts', 'machines/b.machine.ts', 'type', 'floor 1 kernel may not reach floor 2 machines'],
    ['machines/a.machine.ts', 'src/host/b.ts', 'type', 'floor 2 machines may not reach floor 3b host and engines'],
    ['machines/a.machine.ts', 'p-queue', 'value', 'floor 2 machines may import xstate'],
    [
      'compositions/a.machine.ts',
      'machines/session.machine.ts',
      'type',
      'floor 3a compositions may not reach floor 2 machines',
    ],
    ['compositions/a.machine.ts', 'compositions/b.machine.ts', 'value', 'one composition never imports another'],
    ['src/host/a.ts', 'src/stores/memory.ts', 'dynamic', 'floor 3b host and engines may not reach floor 3c parts'],
    [
      'src/host/a.ts',
      'compositions/b.machine.ts',
      'value',
      'floor 3b host and engines may not reach floor 3a compositions',
    ],
    ['src/host/a.ts', 'src/engines/local.ts', 'value', 'the host never imports an engine'],
    ['src/tools/a.ts', 'src/host/b.ts', 'type', 'floor 3c parts may not reach floor 3b host and engines'],
    ['src/tools/a.ts', 'src/policy/b.ts', 'value', 'one part never imports another'],
    ['src/executors/adk/index.ts', 'src/executors/local/index.ts', 'value', 'one part never imports another'],
    [
      'src/executors/adk/reader.ts',
      '@google/adk',
      'value',
      '@google/adk is heavy: only what is loaded with the first turn of an ADK agent imports it',
    ],
    ['src/stores/a.ts', 'src/index.ts', 'value', 'floor 3c parts may not reach floor 4 top'],
    [
      'src/models/a.ts',
      '@google/genai',
      'value',
      '@google/genai is heavy: load it with await import() where it is used',
    ],
    ['src/define/a.ts', 'zod', 'dynamic', 'zod is for tests only'],
    ['src/studio/web/a.tsx', 'src/host/b.ts', 'type', 'floor the page may not reach floor 3b host and engines'],
    ['src/studio/web/a.tsx', 'node:fs', 'value', 'floor the page does no input or output'],
    ['src/cli/a.ts', 'test/b.ts', 'value', 'sources import only src, machines and compositions'],
  ];
  test.each(cases)('%s → %s (%s)', (file, target, kind, rule) => {
    expect(floorViolations(graphOf(file, target, kind))).toEqual([`${file}:7 imports ${target}: ${rule}`]);
  });

  test('a folder without a row', () => {
    expect(floorViolations(new Map([['src/misc/a.ts', []]]))).toEqual([
      'src/misc/a.ts stands on no floor: give its folder a row in test/architecture/floors.ts',
    ]);
  });
});

describe('the table of floors permits', () => {
  const cases: [file: string, target: string, kind: Import['kind']][] = [
    ['src/contracts/a.ts', 'src/contracts/b.ts', 'type'],
    ['src/kernel/a.ts', 'src/contracts/b.ts', 'type'],
    ['src/kernel/a.ts', 'node:crypto', 'value'],
    ['machines/a.machine.ts', 'xstate', 'value'],
    ['compositions/a.machine.ts', 'machines/agent-logic.ts', 'value'],
    ['compositions/a.machine.ts', 'compositions/spawn-agent.ts', 'value'],
    ['src/host/a.ts', 'machines/session.machine.ts', 'value'],
    ['src/host/a.ts', 'ajv', 'dynamic'],
    ['src/engines/a.ts', 'src/host/b.ts', 'value'],
    ['src/models/a.ts', 'openai', 'type'],
    ['src/models/a.ts', 'src/models/b.ts', 'value'],
    ['src/executors/adk/index.ts', 'src/executors/pump.ts', 'value'],
    ['src/builtins.ts', 'src/stores/memory.ts', 'dynamic'],
  ];
  test.each(cases)('%s → %s (%s)', (file, target, kind) => {
    expect(floorViolations(graphOf(file, target, kind))).toEqual([]);
  });
});

function graphOf(file: string, target: string, kind: Import['kind']) {
  return new Map([[file, [{ target, kind, line: 7 }]]]);
}
