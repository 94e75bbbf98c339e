import { expect, test } from 'vitest';
import { INTERFACE_VERSION, isCompatible } from '../../src/kernel/version.js';

test('the version of the interface is a semantic version that is compatible with itself', () => {
  expect(isCompatible(INTERFACE_VERSION)).toEqual({ compatible: true });
});

test.each([
  ['1.0.0', '1.0.0'],
  ['1.0.9', '1.0.0'],
  ['1.2.0', '1.10.0'],
  ['1.0.0-beta.1', '1.0.0'],
  ['1.0.0+build.5', '1.3.0'],
  ['0.0.0', '0.0.1'],
])('an agent for %s runs on a host of %s', (agent, host) => {
  expect(isCompatible(agent, host)).toEqual({ compatible: true });
});

test.each([
  ['2.0.0', '1.9.0', 'another major version'],
  ['1.0.0', '2.0.0', 'another major version'],
  ['1.4.0', '1.3.9', 'newer than the host'],
  ['1.10.0', '1.9.0', 'newer than the host'],
])('an agent for %s is refused by a host of %s: %s', (agent, host, reason) => {
  expect(isCompatible(agent, host)).toEqual({ compatible: false, reason: expect.stringContaining(reason) });
});

test.each(['', '1', '1.0', 'v1.0.0', '1.0.0.0', '01.0.0', '1.x.0', ' 1.0.0', '1.0.0-', 'latest', '1.0.0-ä'])(
  'the malformed version %j is incompatible, on either side, and named',
  (version) => {
    const reason = expect.stringContaining(`"${version}" is no semantic version`);
    expect(isCompatible(version)).toEqual({ compatible: false, reason });
    expect(isCompatible('1.0.0', version)).toEqual({ compatible: false, reason });
  },
);
