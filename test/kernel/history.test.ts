import { expect, test } from 'vitest';
import { createHistory } from '../../src/kernel/history.js';

const text = (value: string) => ({ type: 'text' as const, text: value });

test('parts of a tool result stand on lines of their own, so that a note does not run into what is above it', () => {
  const history = createHistory();
  history.user([text('which files?')]);
  history.model('m1', []);
  history.call({ requestId: 'c1', name: 'glob', args: {}, messageId: 'm1', index: 0 });
  history.response('c1', { llmContent: [text('a.ts  3 lines'), text('[Together 1 file.]')] });
  expect(history.messages().at(-1)?.content).toEqual([
    { type: 'function_response', name: 'glob', id: 'c1', response: { output: 'a.ts  3 lines\n[Together 1 file.]' } },
  ]);
});
