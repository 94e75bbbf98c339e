import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findText } from '../../src/tools/workspace/find-text.js';
import { replace } from '../../src/tools/workspace/replace.js';
import { fc } from '../support/fast-check.js';
import { callerOf, dataOf, textOf, workspaceFolders } from './workspace-folder.js';

const made = workspaceFolders();

interface Args {
  old_string: string;
  new_string: string;
  expected_replacements?: number;
}

async function replaceIn(content: string | Uint8Array, args: Args) {
  const folder = await made({ f: content });
  const result = await callerOf(folder.root)('replace', { path: 'f', ...args });
  const bytes = await readFile(join(folder.root, 'f'));
  expect(await readdir(folder.root)).toEqual(['f']);
  return { result, text: bytes.toString('utf8'), bytes, said: textOf(result) };
}

test('a text that stands there once is replaced, and the line is named', async () => {
  const { result, text, said } = await replaceIn('a\nb\nc\n', { old_string: 'b\n', new_string: 'x\ny\n' });
  expect(text).toBe('a\nx\ny\nc\n');
  expect(said).toBe('Replaced 1 occurrence in "f" (line 2).');
  expect(result.isError).toBeUndefined();
  expect(dataOf(result)).toEqual({
    path: 'f',
    created: false,
    bytes: 8,
    addedLines: 2,
    removedLines: 1,
    replacements: 1,
    lines: [2],
  });
});

test('an empty new text takes it away', async () => {
  expect((await replaceIn('a, b', { old_string: ', b', new_string: '' })).text).toBe('a');
});

test('old and new are taken as they are: no pattern, no reference', async () => {
  const { text } = await replaceIn('a.c (x)* $1', { old_string: '(x)* $1', new_string: '$& $` $1 \\n' });
  expect(text).toBe('a.c $& $` $1 \\n');
  expect((await replaceIn('abc', { old_string: 'a.c', new_string: 'x' })).result.isError).toBe(true);
});

describe('counts', () => {
  test('as many as expected are all replaced', async () => {
    const args = { old_string: 'aa', new_string: 'b', expected_replacements: 2 };
    const { text, said } = await replaceIn('aaaaa\n', args);
    expect(text).toBe('bba\n');
    expect(said).toBe('Replaced 2 occurrences in "f" (line 1).');
  });

  test.each([
    [1, 'old_string stands 3 times in "f" (lines 1, 2, 4), not 1 time;'],
    [2, 'old_string stands 3 times in "f" (lines 1, 2, 4), not 2 times;'],
    [4, 'old_string stands 3 times in "f" (lines 1, 2, 4), not 4 times;'],
  ])('another count than %i changes nothing and says how to go on', async (expected, sentence) => {
    const args = { old_string: 'x', new_string: 'y', expected_replacements: expected };
    const { result, text, said } = await replaceIn('x\nx\n\nx\n', args);
    expect(text).toBe('x\nx\n\nx\n');
    expect(result).toMatchObject({ isError: true, errorType: 'edit_no_occurrence_found' });
    expect(said).toContain(sentence);
    expect(said).toContain('expected_replacements: 3 to replace all');
  });

  test('many places are named in part', async () => {
    const { said } = await replaceIn('x\n'.repeat(30), { old_string: 'x', new_string: 'y' });
    expect(said).toContain('stands 30 times in "f" (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …)');
  });

  test('more places than can be held are not looked for', async () => {
    const { result, said } = await replaceIn('x'.repeat(100_001), { old_string: 'x', new_string: 'y' });
    expect(result.errorType).toBe('edit_no_occurrence_found');
    expect(said).toContain('stands more than 100,000 times');
  });
});

test.each<[string, Args, string]>([
  [
    'other white space',
    { old_string: '  if (a) {\n    b();', new_string: 'x' },
    'The same text with other white space begins at line 2: give it as read_file shows it.',
  ],
  ['other capitals', { old_string: 'IF (A)', new_string: 'x' }, 'The same text in other capitals begins at line 2.'],
  ['an edit that was made', { old_string: 'old()', new_string: 'b();' }, 'new_string stands there already, at line 3.'],
  [
    'a beginning that stands there',
    { old_string: '}\nelse {', new_string: 'x' },
    'Its first line stands at line 4, but what follows there differs.',
  ],
  [
    'a beginning that stands there often',
    { old_string: 'end\nfor good', new_string: 'x' },
    'Its first line stands there 2 times, but what follows differs.',
  ],
  ['nothing of it', { old_string: 'nowhere', new_string: 'x' }, 'Read the file again: it may have changed.'],
  ['white space alone', { old_string: '\t\t\t', new_string: 'x' }, 'Read the file again: it may have changed.'],
])('a text that is not there is told with a hint at %s', async (_, args, hint) => {
  const content = 'start\n\tif (a) {\n\t\tb();\n\t}\nend\nend\n';
  const { result, said, text } = await replaceIn(content, args);
  expect(result).toMatchObject({ isError: true, errorType: 'edit_no_occurrence_found' });
  expect(said).toBe(`old_string does not stand in "f"; nothing was changed. ${hint}`);
  expect(text).toBe(content);
});

describe('line ends', () => {
  test('LF in the old text finds CR LF, and the new text gets the line ends of the file', async () => {
    const { text } = await replaceIn('a\r\nb\r\nc\r\n', { old_string: 'a\nb', new_string: '1\n2\n3' });
    expect(text).toBe('1\r\n2\r\n3\r\nc\r\n');
  });

  test('a new text of several lines in place of a part of one gets them too', async () => {
    expect((await replaceIn('a\r\nb\r\n', { old_string: 'b', new_string: 'x\ny' })).text).toBe('a\r\nx\r\ny\r\n');
    expect((await replaceIn('a\r\nb', { old_string: 'b', new_string: 'x\ny' })).text).toBe('a\r\nx\r\ny');
    expect((await replaceIn('a', { old_string: 'a', new_string: 'x\ny' })).text).toBe('x\ny');
  });

  test('a new text that has CR LF itself gets no second CR', async () => {
    expect((await replaceIn('a\r\nb\r\n', { old_string: 'b', new_string: 'x\r\ny' })).text).toBe('a\r\nx\r\ny\r\n');
  });

  test('where the line ends of a file differ, those of the place hold', async () => {
    const args = { old_string: 'x', new_string: '1\n2', expected_replacements: 2 };
    expect((await replaceIn('x\nx\r\n', args)).text).toBe('1\n2\n1\r\n2\r\n');
  });

  test('CR LF that is given and stands there means just that: so line ends can be changed', async () => {
    expect((await replaceIn('a\r\nb\n', { old_string: 'a\r\nb', new_string: 'a\nb' })).text).toBe('a\nb\n');
  });

  test('CR LF that is given where the file has LF finds it all the same', async () => {
    expect((await replaceIn('a\nb\n', { old_string: 'a\r\nb', new_string: 'c' })).text).toBe('c\n');
  });
});

describe('bytes', () => {
  test('what is not valid UTF-8 elsewhere in the file stays byte for byte', async () => {
    const content = Buffer.concat([Buffer.from([0xff, 0xfe, 0xe9]), Buffer.from(' größe 😀 '), Buffer.from([0xc3])]);
    const { bytes } = await replaceIn(content, { old_string: 'größe 😀', new_string: 'maß' });
    expect([...bytes]).toEqual([0xff, 0xfe, 0xe9, ...Buffer.from(' maß '), 0xc3]);
  });

  test('a byte order mark stays, and is no part of what the first line looks like', async () => {
    expect((await replaceIn('\ufefffirst\n', { old_string: 'first\n', new_string: 'x\n' })).text).toBe('\ufeffx\n');
  });

  test('binary files, and texts that are no characters, are refused', async () => {
    const binary = await replaceIn(new Uint8Array([97, 0, 98]), { old_string: 'a', new_string: 'b' });
    expect(binary.said).toBe('"f" is a binary file; it cannot be edited as text.');
    const half = await replaceIn('a', { old_string: '\ud800', new_string: 'b' });
    expect([half.result.errorType, half.said]).toEqual([
      'invalid_tool_params',
      'old_string holds half a surrogate pair, which is no character.',
    ]);
  });
});

test('a file that does not exist is file_not_found, with the way to make one', async () => {
  const folder = await made();
  const result = await callerOf(folder.root)('replace', { path: 'f', old_string: 'a', new_string: 'b' });
  expect([result.errorType, textOf(result)]).toEqual([
    'file_not_found',
    '"f" does not exist; write_file makes new files.',
  ]);
});

test('old and new alike is refused', async () => {
  const { result } = await replaceIn('a', { old_string: 'a', new_string: 'a' });
  expect(result.errorType).toBe('invalid_tool_params');
});

describe('for any text', () => {
  const piece = fc.constantFrom('a', 'b', 'ab', ' ', '\n', '\n\n', 'é', '😀', '.*', '$&', '\t', '\\', '(');
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));
  const needle = fc.array(piece, { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join(''));

  const plan = (content: string, args: Args): string => {
    const before = { bytes: Buffer.from(content), stats: undefined as never };
    return replace.plan({ absolute: '/f', path: 'f', before }, { path: 'f', ...args }).after.toString('utf8');
  };
  const crlf = (lf: string) => lf.replaceAll('\n', '\r\n');

  test('the result is that of splitting by the old text and joining with the new one', () => {
    fc.assert(
      fc.property(text, needle, text, (content, old_string, new_string) => {
        const parts = content.split(old_string);
        fc.pre(parts.length > 1 && old_string !== new_string);
        const args = { old_string, new_string, expected_replacements: parts.length - 1 };
        expect(plan(content, args)).toBe(parts.join(new_string));
        // The same in a file with CR LF, which stays one.
        fc.pre(content.includes('\n'));
        expect(plan(crlf(content), args)).toBe(crlf(parts.join(new_string)));
      }),
    );
  });

  test('another count than the true one never changes anything', () => {
    fc.assert(
      fc.property(text, needle, fc.integer({ min: 1, max: 9 }), (content, old_string, expected_replacements) => {
        const count = content.split(old_string).length - 1;
        fc.pre(count !== expected_replacements);
        expect(() => plan(content, { old_string, new_string: 'ä', expected_replacements })).toThrow(
          /nothing was changed/,
        );
      }),
    );
  });

  test('places are found from the left, do not overlap, and hold the text', () => {
    fc.assert(
      fc.property(text, needle, (content, wanted) => {
        const bytes = Buffer.from(content);
        const { found } = findText(bytes, wanted);
        let end = 0;
        for (const { from, to } of found) {
          expect(from).toBeGreaterThanOrEqual(end);
          expect(bytes.subarray(from, to).toString('utf8')).toBe(wanted);
          end = to;
        }
      }),
    );
  });
});
