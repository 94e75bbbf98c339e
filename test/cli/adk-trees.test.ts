import { expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.js';
import { fakeIo } from './fake-io.js';

const troupe = async (...args: string[]) => {
  const io = fakeIo({ cwd: process.cwd() });
  const code = await runProgram({ args, io, version: '1.2.3' });
  return { code, out: io.stdout.text, err: io.stderr.text };
};
const TEAM = 'test/support/adk-team.ts';

test('graph draws what becomes of a tree of ADK, in its place in the team', async () => {
  const { code, out } = await troupe('graph', TEAM);
  expect(code).toBe(0);
  expect(out).toContain('sequential');
  for (const name of ['look', 'inventory', 'structure', 'polish', 'writer', 'critic', 'reader'])
    expect(out, name).toMatch(new RegExp(`"${name}\\b`));
  expect(out).toContain('parallel');
  expect(out).toContain('loop, at most 3 iterations');
  const { out: states } = await troupe('graph', TEAM, '--states', '--format', 'xstate');
  expect(states).toContain('"loop"');
});

test('check counts the agents of a tree of ADK, and says when there is none', async () => {
  const { code, out } = await troupe('check', TEAM, '--json');
  const report = JSON.parse(out) as { problems: unknown[]; worstCase: { modelCalls: number } };
  expect([code, report.problems]).toEqual([0, []]);
  // Two side by side, two in three rounds, the reader: each at most 15 calls.
  expect(report.worstCase.modelCalls).toBe((2 + 2 * 3 + 1) * 15);
  const bad = await troupe('check', 'test/support/adk-no-agent.ts', '--json');
  expect(bad.code).toBe(2);
  expect(JSON.parse(bad.out).problems).toEqual([
    { code: 'INVALID_DEFINITION', path: 'legacy', message: expect.stringContaining('no agent of @google/adk') },
  ]);
});
