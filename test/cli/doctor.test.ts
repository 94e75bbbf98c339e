import { expect, test } from 'vitest';
import { type DoctorParts, doctorCommand, installedVersion } from '../../src/cli/doctor.js';
import { fakeIo } from './fake-io.js';

const parts: DoctorParts = {
  nodeVersion: '22.1.0',
  packageVersion: (name) => (name === 'openai' ? '6.49.0' : undefined),
};
const env = { OPENAI_API_KEY: 'sk-very-secret', GEMINI_API_KEY: '' };

test('packages and keys are said to be there or not, and no key is printed', async () => {
  const io = fakeIo({ env });
  expect(await doctorCommand({}, io, parts)).toBe(0);
  expect(io.stdout.text).toContain('ok       openai 6.49.0');
  expect(io.stdout.text).toContain('missing  @google/genai, for models of "gemini/…": npm install @google/genai');
  expect(io.stdout.text).toContain('set      OPENAI_API_KEY');
  expect(io.stdout.text).toContain('not set  GEMINI_API_KEY');
  expect(io.stdout.text).not.toContain('sk-very-secret');
});

test('--json says the same to programs, without keys', async () => {
  const io = fakeIo({ env, terminal: true });
  await doctorCommand({ json: true }, io, parts);
  const report = JSON.parse(io.stdout.text);
  expect(report).toMatchObject({
    ok: true,
    node: { version: '22.1.0', ok: true },
    terminal: { stdin: true, stdout: true, columns: 80 },
  });
  expect(report.keys).toContainEqual({ name: 'OPENAI_API_KEY', for: 'openai', set: true });
  expect(io.stdout.text).not.toContain('sk-very-secret');
});

test.each([
  ['20.19.0', 0],
  ['20.18.9', 1],
  ['18.20.0', 1],
  ['24.0.0', 0],
])('Node %s: exit code %i', async (nodeVersion, code) => {
  const io = fakeIo();
  expect(await doctorCommand({}, io, { ...parts, nodeVersion })).toBe(code);
  expect(io.stdout.text.startsWith(code === 0 ? 'ok' : 'too old')).toBe(true);
});

test('an installed package is found with its version, a missing one is not', () => {
  expect(installedVersion('commander')).toMatch(/^14\./);
  expect(installedVersion('no-such-package-anywhere')).toBeUndefined();
});
