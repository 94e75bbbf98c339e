import { expect, test } from 'vitest';
import { toolNameFault } from '../../../src/kernel/agent-check.js';
import { registeredName, serverPrefix } from '../../../src/tools/mcp/tool-names.js';
import { fc } from '../../support/fast-check.js';

test('a plain name is kept as it is', () => {
  expect(registeredName('github', 'search_code')).toBe('mcp_github_search_code');
  expect(registeredName('my-server.v2', 'issues.list')).toBe('mcp_my-server.v2_issues.list');
});

test('two names of 85 characters that differ at their end stay two names of at most 64 (B120)', () => {
  const long = 'x'.repeat(84);
  const names = [registeredName('s', `${long}a`), registeredName('s', `${long}b`)];
  expect(new Set(names).size).toBe(2);
  for (const name of names) {
    expect(name).toMatch(/^mcp_s_x+_[0-9a-f]{8}$/);
    expect(name).toHaveLength(64);
  }
  // Written down, as it stands in policy files: a restart, or another version, gives the same.
  expect(names[0]).toBe(`mcp_s_${'x'.repeat(49)}_a1e899cb`);
});

test('names that no tool may have are changed, each to one of its own', () => {
  const given = ['größe', 'gr__e', 'grösse', 'a b', 'a_b', 'a\u0000b', '😀', '\u202e', '__proto__', 'a\u0430', 'aa'];
  const names = given.map((name) => registeredName('s', name));
  expect(new Set(names).size).toBe(given.length);
  for (const name of names) expect(toolNameFault(name)).toBeUndefined();
  expect(registeredName('s', '__proto__')).toBe('mcp_s___proto__');
});

test('a server with a long or a strange name has a prefix of its own that leaves room for its tools', () => {
  const prefixes = ['my server', 'my_server', 'my.server', 'x'.repeat(80), `${'x'.repeat(79)}y`].map(serverPrefix);
  expect(new Set(prefixes).size).toBe(5);
  for (const prefix of prefixes) expect(prefix.length).toBeLessThanOrEqual(41);
  expect(serverPrefix('my_server')).toBe('mcp_my_server_');
});

test('whatever servers and tools are called, names are valid, begin with their prefix, and are told apart', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
    fc.string({ unit: fc.constantFrom('a', '_', '-'), minLength: 1, maxLength: 90 }),
    fc.constantFrom('__proto__', 'constructor', 'a'.repeat(64), 'a'.repeat(65)),
  );
  fc.assert(
    fc.property(name, fc.uniqueArray(name, { minLength: 2, maxLength: 12 }), (server, tools) => {
      const names = tools.map((tool) => registeredName(server, tool));
      expect(new Set(names).size).toBe(tools.length);
      for (const one of names) {
        expect(toolNameFault(one)).toBeUndefined();
        expect(one.startsWith(serverPrefix(server))).toBe(true);
      }
      expect(tools.map((tool) => registeredName(server, tool))).toEqual(names);
    }),
  );
});
