import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { doctorCommand } from '../../src/cli/doctor.js';
import { executorCases } from '../../src/testing/index.js';
import { root } from '../architecture/import-graph.js';
import { fakeIo } from './fake-io.js';

const parts = { nodeVersion: '22.1.0', packageVersion: () => undefined };

async function printed(options: { json?: boolean }): Promise<string> {
  const io = fakeIo();
  expect(await doctorCommand({ executors: true, ...options }, io, parts)).toBe(0);
  return io.stdout.text;
}

test('doctor --executors prints a line for every case, and the guide ends with what it prints', async () => {
  const table = await printed({});
  for (const { name } of executorCases) expect(table).toContain(`| ${name} `);
  const guide = readFileSync(join(root, 'docs', 'executors.md'), 'utf8');
  expect(guide.slice(-table.length)).toBe(table);
});

test('with --json it says which case does not hold, why, and which capability is not declared', async () => {
  const { executors } = JSON.parse(await printed({ json: true }));
  expect(executors.map(({ name }: { name: string }) => name)).toContain('remote');
  const remote = executors.find(({ name }: { name: string }) => name === 'remote');
  expect(remote.opaque).toBe(true);
  expect(remote.cases).toHaveLength(executorCases.length);
  const failing = remote.cases.filter(({ holds }: { holds: boolean }) => !holds);
  expect(failing.length).toBeGreaterThan(0);
  for (const { reason, missing } of failing) {
    expect(reason).not.toBe('');
    expect(remote.capabilities).not.toContain(missing);
  }
});
