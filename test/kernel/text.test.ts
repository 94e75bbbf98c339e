import { describe, expect, test } from 'vitest';
import { cutText, didYouMean, editDistance, nearest } from '../../src/kernel/text.js';
import { fc } from '../support/fast-check.js';

describe('cutText', () => {
  test('text that fits is returned as it is, longer text up to the limit', () => {
    expect(cutText('abc', 3)).toBe('abc');
    expect(cutText('abcd', 3)).toBe('abc');
    expect(cutText('abc', 0)).toBe('');
    expect(cutText('abc', -1)).toBe('');
    expect(cutText('abc', 2.9)).toBe('ab');
  });

  test('a character is never cut in two', () => {
    expect(cutText('a😀b', 2)).toBe('a');
    expect(cutText('a😀b', 3)).toBe('a😀');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, max) => {
        const cut = cutText(text, max);
        expect(text.startsWith(cut)).toBe(true);
        expect(() => encodeURIComponent(cut)).not.toThrow();
        expect(cut.length <= max && cut.length >= Math.min(text.length, max) - 1).toBe(true);
      }),
    );
  });
});

describe('nearest', () => {
  const tools = ['read_file', 'write_file', 'search_text', 'glob', 'replace'];

  test('near names come nearest first, far ones not at all', () => {
    expect(nearest('raed_file', tools)).toEqual(['read_file']);
    expect(nearest('Glob', tools)).toEqual(['glob']);
    expect(nearest('delete_everything', tools)).toEqual([]);
    expect(nearest('READ_FILE', tools)).toEqual(['read_file']);
    expect(nearest('read_fil', ['read_files', 'read_file', 'read_fi'])).toEqual(['read_file', 'read_fi', 'read_files']);
  });

  test('a short name is not near to everything short', () => {
    expect(nearest('k', ['abc', 'x'])).toEqual([]);
    expect(nearest('ab', ['xyz', 'abc'])).toEqual(['abc']);
  });

  test('names of any length cost little', () => {
    expect(nearest('x'.repeat(1e6), ['x'.repeat(1e6 - 1)])).toEqual([]);
  });

  test('the distance is a metric', () => {
    const word = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(word, word, word, (a, b, c) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
        expect(editDistance(a, c)).toBeLessThanOrEqual(editDistance(a, b) + editDistance(b, c));
      }),
    );
    expect(editDistance('kitten', 'sitting')).toBe(3);
  });

  test('a suggestion reads as the end of a message', () => {
    expect(didYouMean('read_fiel', tools)).toBe(' (did you mean "read_file"?)');
    expect(didYouMean('zzz', tools)).toBe('');
    expect(didYouMean('ax', ['ab', 'ac'])).toBe(' (did you mean "ab" or "ac"?)');
  });
});
