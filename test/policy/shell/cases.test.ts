import { describe, expect, test } from 'vitest';
import { outcomeBy, shellCases } from './shell-cases.js';

const touching = shellCases.filter(({ touches }) => touches);
const INERT = ['S01', 'S11', 'S13', 'S17', 'S26', 'S79', 'S86'];

describe('command lines that were run, and what they did (B128)', () => {
  test.each(touching)('$id: $line is not allowed by the prefix $prefix', async ({ line, prefix }) => {
    expect(await outcomeBy(line, [prefix])).toBe('ask_user');
  });

  test.each(touching)('$id: nor by echo and cat', async ({ line }) => {
    expect(await outcomeBy(line, ['echo', 'cat'])).toBe('ask_user');
  });

  test.each(touching)('$id: nor by the prefix of every command but touch', async ({ line }) => {
    const others = new Set(
      shellCases.flatMap((one) => [...one.line.matchAll(/[a-z][a-z0-9]*/g)].map(([word]) => word)),
    );
    others.delete('touch');
    const prefixes = [...others].filter((word) => !RESERVED.has(word));
    expect(await outcomeBy(line, prefixes)).toBe('ask_user');
  });

  test.each(shellCases.filter(({ id }) => INERT.includes(id)))('$id: $line stays allowed', async ({ line }) => {
    expect(await outcomeBy(line, ['echo', 'cat'])).toBe('allow');
  });
});

const RESERVED = new Set(['if', 'then', 'fi', 'time', 'coproc', 'in', 'do', 'done']);
