import { expect, test } from 'vitest';
import { toResourceResult, toResult } from '../../../src/tools/mcp/results.js';

const PNG = 'iVBORw0KGgo=';

test('each kind of content has a part of its own', () => {
  expect(
    toResult({
      content: [
        { type: 'text', text: 'words' },
        { type: 'image', mimeType: 'image/png', data: PNG },
        { type: 'audio', mimeType: 'audio/wav', data: 'AAAA' },
        { type: 'resource_link', uri: 'note://1', name: 'one', mimeType: 'text/plain' },
        { type: 'resource_link', uri: 'note://2', name: 'two', title: 'Two', description: 'The second.' },
        { type: 'resource', resource: { uri: 'note://3', mimeType: 'text/markdown', text: '# three' } },
        { type: 'resource', resource: { uri: 'note://4', mimeType: 'application/pdf', blob: 'AAAA' } },
        { type: 'resource', resource: { uri: 'note://5', mimeType: 'image/png', blob: PNG } },
        { type: 'hologram', depth: 3 },
      ],
    }).llmContent,
  ).toEqual([
    { type: 'text', text: 'words' },
    { type: 'media', mimeType: 'image/png', data: PNG },
    { type: 'media', mimeType: 'audio/wav', data: 'AAAA' },
    { type: 'reference', text: 'one', uri: 'note://1', mimeType: 'text/plain' },
    { type: 'reference', text: 'Two: The second.', uri: 'note://2' },
    { type: 'reference', text: '# three', uri: 'note://3', mimeType: 'text/markdown' },
    { type: 'reference', text: 'note://4', uri: 'note://4', mimeType: 'application/pdf', data: 'AAAA' },
    { type: 'media', mimeType: 'image/png', data: PNG },
    { type: 'text', text: '{"type":"hologram","depth":3}' },
  ]);
});

test('structured content is data; without any other content it is the text too', () => {
  expect(toResult({ content: [{ type: 'text', text: 'three' }], structuredContent: { sum: 3 } })).toEqual({
    llmContent: [{ type: 'text', text: 'three' }],
    data: { sum: 3 },
  });
  expect(toResult({ content: [], structuredContent: { sum: 3 } })).toEqual({
    llmContent: [{ type: 'text', text: '{"sum":3}' }],
    data: { sum: 3 },
  });
  expect(toResult({ content: [] })).toEqual({ llmContent: [{ type: 'text', text: '' }] });
});

test('an error of the tool is an mcp_tool_error with what it said', () => {
  expect(toResult({ content: [{ type: 'text', text: 'no such issue' }], isError: true })).toEqual({
    llmContent: [{ type: 'text', text: 'no such issue' }],
    isError: true,
    errorType: 'mcp_tool_error',
  });
});

test('media over 64 KB say their size; what is no base64, or of no type, becomes words', () => {
  const data = Buffer.alloc(70_000).toString('base64');
  const parts = [
    { type: 'image', mimeType: 'image/png', data },
    { type: 'image', mimeType: 'image/png', data: 'not base64!' },
    { type: 'image', mimeType: 'image/png', data: '' },
    { type: 'audio', mimeType: '../x', data: 'AAAA' },
  ];
  expect(toResult({ content: parts }).llmContent).toEqual([
    { type: 'media', mimeType: 'image/png', data, _meta: { bytes: 70_000 } },
    { type: 'text', text: '[image (image/png) that cannot be read]' },
    { type: 'text', text: '[image (image/png) that cannot be read]' },
    { type: 'text', text: '[audio that cannot be read]' },
  ]);
});

test('a long text is cut for the model between characters, says so, and stands whole beside it', () => {
  const text = `x${'😀'.repeat(2_500_000)}`;
  const { llmContent, displayContent, contentLength } = toResult({
    content: [
      { type: 'text', text },
      { type: 'image', mimeType: 'image/png', data: PNG },
      { type: 'text', text: 'end' },
    ],
  });
  expect(contentLength).toBe(5_000_004);
  expect(llmContent.map((part) => part.type)).toEqual(['text', 'media', 'text']);
  const shown = (llmContent[0] as { text: string }).text;
  expect(shown).toHaveLength(199_999);
  expect(/\p{Surrogate}/u.test(shown)).toBe(false);
  expect(llmContent.at(-1)).toEqual({ type: 'text', text: '[cut: the first 200000 of 5000004 characters]' });
  expect(displayContent).toHaveLength(3);
  expect(displayContent?.[0]).toEqual({ type: 'text', text });
});

test('half a character is no character, and unseen marks do not stand in names', () => {
  const [text, link] = toResult({
    content: [
      { type: 'text', text: 'a \ud83d b' },
      { type: 'resource_link', uri: 'note://\ud83d', name: 'safe\u202egpj.exe\u0007' },
    ],
  }).llmContent;
  expect(text).toEqual({ type: 'text', text: 'a \ufffd b' });
  expect(link).toEqual({ type: 'reference', text: 'safegpj.exe', uri: 'note://\ufffd' });
});

test('a resource that was read is its contents', () => {
  expect(toResourceResult({ contents: [{ uri: 'note://1', text: 'one' }] })).toEqual({
    llmContent: [{ type: 'reference', text: 'one', uri: 'note://1' }],
  });
  expect(toResourceResult({ contents: 'x' })).toEqual({ llmContent: [{ type: 'text', text: '' }] });
});
