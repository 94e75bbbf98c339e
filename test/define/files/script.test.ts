import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadScriptFile } from '../../../src/define/files/script.js';
import { scriptedModel } from '../../../src/models/scripted.js';
import { agentFolder, scriptFaults } from './agent-folder.js';

const loadText = async (name: string, text: string) => loadScriptFile(join(await agentFolder({ [name]: text }), name));

test('a list of entries is what scriptedModel takes, keys in either spelling', async () => {
  const script = await loadText(
    'x.yaml',
    `- tool_calls: [{ name: search, args: { query: x } }, { id: c2, name: stop }]
- text: [Hel, lo]
  usage: { input_tokens: 10, outputTokens: 2, cost: { usd: 0.5 } }
- error: { code: RESOURCE_EXHAUSTED, message: slow down, retry_after_ms: 10, retryable: false, status: 429 }
- { thought: hm, text: x, delay_ms: 5, finish_reason: stop }
- refusal: no
- content: [{ type: media, mimeType: image/png, data: AA== }]
`,
  );
  expect(script).toEqual([
    {
      toolCalls: [
        { name: 'search', args: { query: 'x' } },
        { id: 'c2', name: 'stop', args: {} },
      ],
    },
    { text: ['Hel', 'lo'], usage: { inputTokens: 10, outputTokens: 2, cost: { usd: 0.5 } } },
    { error: { code: 'RESOURCE_EXHAUSTED', message: 'slow down', retryAfterMs: 10, retryable: false, status: 429 } },
    { thought: 'hm', text: 'x', delayMs: 5, finishReason: 'stop' },
    { refusal: 'no' },
    { content: [{ type: 'media', mimeType: 'image/png', data: 'AA==' }] },
  ]);
  const model = scriptedModel(script);
  expect(await model.generate({ messages: [] })).toMatchObject({ finishReason: 'tool_calls' });
});

test('by_agent holds a list for each agent, under its name as it is spelled', async () => {
  const script = { byAgent: { researcher: [{ text: 'a' }], 'my-writer': [], myWriter: [{ text: 'b' }] } };
  expect(await loadText('x.json', JSON.stringify(script))).toEqual(script);
  expect(await loadText('x.yaml', 'by_agent:\n  my_writer: [{ text: a }]\n  myWriter: []\n')).toEqual({
    byAgent: { my_writer: [{ text: 'a' }], myWriter: [] },
  });
});

test('an empty list is a script without answers', async () => {
  expect(await loadText('x.yaml', '[]')).toEqual([]);
});

test('every problem is told at once with its line and key', async () => {
  expect(
    await scriptFaults(
      'x.yaml',
      `- txt: hi
- just text
- text: 7
- tool_calls:
    - args: {}
    - search
- error: {}
- usage: { input_tokens: -1, tokens: 3 }
- delay_ms: soon
- content: [{ text: x }, x]
`,
    ),
  ).toEqual([
    'x.yaml:1:[0].txt: is unknown (did you mean "text"?)',
    'x.yaml:2:[1]: must be a map, not "just text"',
    'x.yaml:3:[2].text: must be a text, not 7; put it in quotes',
    'x.yaml:5:[3].tool_calls[0].name: is missing',
    'x.yaml:6:[3].tool_calls[1]: must be a map, not "search"',
    'x.yaml:7:[4].error.code: is missing',
    expect.stringMatching(/^x\.yaml:8:\[5\]\.usage\.tokens: is unknown/),
    'x.yaml:8:[5].usage.input_tokens: must be a whole number from 0, not -1',
    'x.yaml:9:[6].delay_ms: must be a number from 0, not "soon"',
    'x.yaml:10:[7].content[0].type: is missing',
    'x.yaml:10:[7].content[1]: must be a map, not "x"',
  ]);
});

test('problems of a script by agent name the agent', async () => {
  expect(await scriptFaults('x.yaml', 'by_agent:\n  a:\n    - txt: x\n    - 7\n  b: hello\nextra: 1\n')).toEqual([
    'x.yaml:3:by_agent.a[0].txt: is unknown (did you mean "text"?)',
    'x.yaml:4:by_agent.a[1]: must be a map, not 7',
    'x.yaml:5:by_agent.b: must be a list, not "hello"',
    'x.yaml:6:extra: is unknown; known: by_agent',
  ]);
});

test('what is no script file at all says why', async () => {
  expect(await scriptFaults('x.ts', 'export default []')).toEqual([
    'x.ts: is no script file: .yaml, .yml and .json are',
  ]);
  expect(await scriptFaults('x.yaml', '')).toEqual(['x.yaml: is empty']);
  expect(await scriptFaults('x.yaml', '# nothing\n')).toEqual(['x.yaml: is empty']);
  expect(await scriptFaults('x.yaml', 'hello')).toEqual([
    'x.yaml:1: must hold a list of entries, or by_agent, not "hello"',
  ]);
  expect(await scriptFaults('x.json', '[{]')).toEqual([expect.stringMatching(/^x\.json:1: is no JSON/)]);
  expect(await scriptFaults('x.yaml', 'agents: {}\n')).toEqual([
    'x.yaml:1:agents: is unknown; known: by_agent',
    'x.yaml:1:by_agent: is missing: a script is a list of entries, or by_agent with lists',
  ]);
  expect(await scriptFaults('x.yaml', 'by_agent:\n  __proto__: []\n')).toEqual([
    'x.yaml:2:__proto__: is no key that is allowed',
  ]);
});
