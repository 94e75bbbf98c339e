import { describe, expect, test } from 'vitest';
import { type CallPiece, createCallAssembly } from '../../../src/models/wire/call-assembly.js';

function assemble(pieces: readonly CallPiece[], isCut = false) {
  const calls = createCallAssembly();
  for (const piece of pieces) calls.add(piece);
  return calls.finish({ isCut });
}

const at = (index: number | undefined, id: string | undefined, name: string | undefined, args?: string): CallPiece => ({
  index,
  id,
  function: { name, arguments: args },
});

describe('pieces find their call', () => {
  test('by id alone, with the name coming last (B091)', () => {
    const pieces = [
      at(undefined, 'c1', undefined, '{"a"'),
      at(undefined, 'c1', undefined, ':1}'),
      at(undefined, 'c1', 'f'),
    ];
    expect(assemble(pieces)).toEqual([{ id: 'c1', name: 'f', args: { a: 1 } }]);
  });

  test('by index alone, interleaved', () => {
    const pieces = [
      at(0, 'a', 'f', ''),
      at(1, 'b', 'g', ''),
      at(0, undefined, undefined, '{"x":'),
      at(1, undefined, undefined, '{"y":'),
      at(0, undefined, undefined, '1}'),
      at(1, undefined, undefined, '2}'),
    ];
    expect(assemble(pieces)).toEqual([
      { id: 'a', name: 'f', args: { x: 1 } },
      { id: 'b', name: 'g', args: { y: 2 } },
    ]);
  });

  test('an index that begins at 1 makes one call, none without a name (B093)', () => {
    expect(assemble([at(1, 'c', 'f', '{"a"'), at(1, undefined, undefined, ':1}')])).toEqual([
      { id: 'c', name: 'f', args: { a: 1 } },
    ]);
    expect(assemble([at(1, '', '', '')])).toEqual([]);
  });

  test('with neither index nor id, by order', () => {
    const pieces = [
      at(undefined, undefined, 'f', '{"a"'),
      at(undefined, undefined, undefined, ':1}'),
      at(undefined, undefined, 'g', '{}'),
    ];
    expect(assemble(pieces)).toEqual([
      { name: 'f', args: { a: 1 } },
      { name: 'g', args: {} },
    ]);
  });

  test('the same index for every call: different ids are different calls', () => {
    const pieces = [at(0, 'a', 'f', '{"x":'), at(0, undefined, undefined, '1}'), at(0, 'b', 'f', '{"x":2}')];
    expect(assemble(pieces)).toEqual([
      { id: 'a', name: 'f', args: { x: 1 } },
      { id: 'b', name: 'f', args: { x: 2 } },
    ]);
  });

  test('the same id for every call: a named piece behind a whole call begins another', () => {
    expect(assemble([at(undefined, 'c', 'f', '{"x":1}'), at(undefined, 'c', 'f', '{"x":2}')])).toEqual([
      { id: 'c', name: 'f', args: { x: 1 } },
      { id: 'c', name: 'f', args: { x: 2 } },
    ]);
    expect(assemble([at(0, undefined, 'f', '{"x":1}'), at(0, undefined, 'f', '{"x":2}')])).toHaveLength(2);
  });

  test('a name repeated in every piece does not split the call', () => {
    const pieces = [at(0, 'c', 'f', '{"x"'), at(0, 'c', 'f', ':{}'), at(0, 'c', 'f', '}'), at(0, 'c', 'f', '')];
    expect(assemble(pieces)).toEqual([{ id: 'c', name: 'f', args: { x: {} } }]);
  });

  test('a fresh id in every piece of one index is still one call', () => {
    expect(assemble([at(0, 'a', 'f', '{"x"'), at(0, 'b', undefined, ':1}')])).toEqual([
      { id: 'a', name: 'f', args: { x: 1 } },
    ]);
  });
});

describe('arguments', () => {
  test.each([[''], ['  '], ['\n'], [undefined], ['{}'], ['null']])('%j are {} (B095)', (args) => {
    expect(assemble([at(0, 'c', 'f', args)])).toEqual([{ id: 'c', name: 'f', args: {} }]);
  });

  test('broken ones are kept as the text that came, never {} (B096)', () => {
    expect(assemble([at(0, 'c', 'f', '{"path":"a')])).toEqual([
      { id: 'c', name: 'f', args: '{"path":"a', brokenArgs: '{"path":"a' },
    ]);
    expect(assemble([at(0, 'c', 'f', '{"a":1}{"b":2}')])[0]?.brokenArgs).toBe('{"a":1}{"b":2}');
  });

  test('that come as an object are taken as they are', () => {
    expect(assemble([{ index: 0, function: { name: 'f', arguments: { a: 1 } } }])).toEqual([
      { name: 'f', args: { a: 1 } },
    ]);
  });

  test('cut off before their first character, the call is dropped, not run with {}', () => {
    const pieces = [at(0, 'a', 'f', '{}'), at(1, 'b', 'g', '')];
    expect(assemble(pieces, true).map(({ name }) => name)).toEqual(['f']);
    expect(assemble(pieces, false).map(({ name }) => name)).toEqual(['f', 'g']);
  });

  test('every split of the text gives the same call', () => {
    const text = '{"path":"a/\\u00e9","n":[1,{"x":"}"}]}';
    for (let cut = 0; cut <= text.length; cut++) {
      const pieces = [at(0, 'c', 'f', text.slice(0, cut)), at(0, undefined, undefined, text.slice(cut))];
      expect(assemble(pieces)).toEqual([{ id: 'c', name: 'f', args: JSON.parse(text) }]);
    }
  });
});
