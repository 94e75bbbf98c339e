import { describe, expect, test } from 'vitest';
import { compileGlob } from '../../src/tools/workspace/glob-pattern.js';

const cases: [pattern: string, matching: string[], others: string[]][] = [
  ['*.ts', ['a.ts', '.ts', '.hidden.ts'], ['a.js', 'src/a.ts', 'a.tsx']],
  ['**/*.ts', ['a.ts', 'src/a.ts', 'src/deep/er/a.ts'], ['a.js']],
  ['src/**', ['src/a', 'src/a/b'], ['lib/a']],
  ['src/', ['src/a', 'src/a/b'], ['lib/a']],
  ['./src/*', ['src/a'], ['src/a/b']],
  ['src/**/test/*.ts', ['src/test/a.ts', 'src/x/y/test/a.ts'], ['src/a.ts', 'test/a.ts', 'src/test/x/a.ts']],
  ['**/a/**/b/**/c', ['a/b/c', 'x/a/y/b/z/c'], ['a/c', 'b/a/c']],
  ['a?c', ['abc', 'a😀c', 'a.c'], ['ac', 'abbc', 'a/c']],
  ['a*b*c', ['abc', 'axbxc', 'abbcc', 'abcbc'], ['ab', 'abcb']],
  ['a**b', ['ab', 'axxb'], ['a/b']],
  ['[abc].md', ['a.md', 'c.md'], ['d.md', 'ab.md']],
  ['[a-c0-9].md', ['b.md', '7.md'], ['x.md', '-.md']],
  ['[!a-c].md', ['x.md'], ['a.md', '.md']],
  ['[^a].md', ['b.md'], ['a.md']],
  ['[]x].md', ['].md', 'x.md'], ['a.md']],
  ['[x-].md', ['-.md', 'x.md'], ['y.md']],
  ['[abc', ['[abc'], ['a']],
  ['*.{ts,tsx}', ['a.ts', 'a.tsx'], ['a.js', 'a.{ts,tsx}']],
  ['{src,test}/**/*.ts', ['src/a.ts', 'test/x/a.ts'], ['lib/a.ts']],
  ['{a/b,c}/x', ['a/b/x', 'c/x'], ['a/x']],
  ['a{b,{c,d}e,}f', ['abf', 'acef', 'adef', 'af'], ['aef']],
  ['{a}.ts', ['{a}.ts'], ['a.ts']],
  ['{a,b', ['{a,b'], ['a']],
  ['a,b}', ['a,b}'], ['a']],
  ['\\*.ts', ['*.ts'], ['a.ts']],
  ['\\{a,b\\}', ['{a,b}'], ['a']],
  ['app/(group)/+page.ts', ['app/(group)/+page.ts'], ['app/group/page.ts']],
  ['$(x)|^.+', ['$(x)|^.+'], ['x']],
  ['Übung/*', ['Übung/a'], ['übung/a']],
  ['**', ['a', 'a/b/c'], []],
];

describe.each(cases)('%s', (pattern, matching, others) => {
  const glob = compileGlob(pattern);
  test.each(matching)('matches %s', (path) => expect(glob.matches(path)).toBe(true));
  test.each(others)('does not match %s', (path) => expect(glob.matches(path)).toBe(false));
  test('never says no about a folder above a match', () => {
    for (const path of matching) {
      const names = path.split('/');
      for (let depth = 1; depth < names.length; depth++) {
        expect([path, glob.mayMatchBelow(names.slice(0, depth).join('/'))]).toEqual([path, true]);
      }
    }
  });
});

test('a folder in which nothing can match need not be entered', () => {
  expect(compileGlob('src/*.ts').mayMatchBelow('lib')).toBe(false);
  expect(compileGlob('src/*.ts').mayMatchBelow('src')).toBe(true);
  expect(compileGlob('src/*.ts').mayMatchBelow('src/deep')).toBe(false);
  expect(compileGlob('*.ts').mayMatchBelow('src')).toBe(false);
});

test('patterns made to backtrack are answered at once', () => {
  const name = `${'a'.repeat(255)}`;
  for (const pattern of ['*a'.repeat(100), '*?'.repeat(100), '*[ab]'.repeat(60)]) {
    expect(compileGlob(`${pattern}b`).matches(name)).toBe(false);
  }
  expect(compileGlob(`${'**/a/'.repeat(60)}b`).matches('a/'.repeat(400))).toBe(false);
  expect(() => compileGlob('{a,a}'.repeat(50))).toThrow(/more than 64 alternatives/);
  expect(compileGlob('{'.repeat(900)).matches('a')).toBe(false);
});
