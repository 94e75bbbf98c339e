import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { AgentEvent, ToolDescriptor } from '../../../src/contracts/index.js';
import { call, type Notice, responsesIn, runScript, stdioServer, textIn } from './hosted.js';

describe.each(['dual', 'legacy'])('a real server over stdio, %s', (era) => {
  let events: AgentEvent[] = [];
  let tools: ToolDescriptor[] = [];
  let notices: Notice[] = [];
  const answerOf = (name: string) => responsesIn(events).find((event) => event.name === `mcp_real_${name}`);

  beforeAll(async () => {
    vi.stubEnv('SECRET_TOKEN', 'ours');
    const names = ['add', 'environment', 'place', 'picture', 'links', 'fail', 'throw', 'steps', 'sample'];
    const ran = await runScript(
      { servers: { real: stdioServer([era, 'resources'], { TOKEN: 'its own' }, { cwd: 'test' }) } },
      [
        call('mcp_real_echo', { text: 'hi 😀' }),
        call('mcp_real_echo', { words: 'hi' }),
        ...names.map((name) => call(`mcp_real_${name}`, name === 'add' ? { a: 1, b: 2 } : {})),
        call('mcp_real_read_resource', { uri: 'note://one' }),
        call('mcp_real_read_resource', { uri: 'note://none' }),
      ],
    );
    ({ events, tools, notices } = ran);
  });
  afterAll(() => {
    vi.unstubAllEnvs();
  });

  test('its tools are the agent’s, by name, with what they say of themselves', () => {
    expect(tools.map(({ name }) => name)).toEqual(
      [
        ...['add', 'ask', 'big', 'die', 'echo', 'environment', 'fail', 'grow', 'hang', 'helper', 'links', 'picture'],
        ...['place', 'read_resource', 'sample', 'steps', 'throw'],
      ].map((name) => `mcp_real_${name}`),
    );
    expect(tools.find(({ name }) => name === 'mcp_real_echo')).toMatchObject({
      displayName: 'Echo',
      description: 'Says it again.',
      parametersSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    });
    expect(notices).toEqual([]);
  });

  test('a call is answered with its text', () => {
    expect(textIn(answerOf('echo'))).toBe('hi 😀');
  });

  test('arguments that do not fit never reach it', () => {
    const unfit = responsesIn(events)[1];
    expect(unfit).toMatchObject({ name: 'mcp_real_echo', isError: true, errorType: 'invalid_tool_params' });
    expect(textIn(unfit)).toContain("must have required property 'text'");
  });

  test('structured content is data', () => {
    expect(answerOf('add')).toMatchObject({ llmContent: [{ text: 'it is 3' }], data: { sum: 3 } });
  });

  test('it has what is configured and a cleaned environment, in its folder', () => {
    const environment = JSON.parse(textIn(answerOf('environment'))) as Record<string, string>;
    expect(environment.TOKEN).toBe('its own');
    expect(environment.PATH).toBe(process.env.PATH);
    expect(environment).not.toHaveProperty('SECRET_TOKEN');
    expect(Object.keys(environment)).not.toContain('NODE_OPTIONS');
    const place = JSON.parse(textIn(answerOf('place'))) as { cwd: string; args: string[] };
    expect(place.cwd).toMatch(/[\\/]test$/);
    expect(place.args).toEqual([era, 'resources']);
  });

  test('images and sound are media, links and documents references', () => {
    expect(answerOf('picture')?.llmContent).toMatchObject([
      { type: 'media', mimeType: 'image/png' },
      { type: 'media', mimeType: 'audio/wav', _meta: { bytes: 70_000 } },
    ]);
    expect(answerOf('links')?.llmContent).toMatchObject([
      { type: 'reference', text: 'Note one: The first.', uri: 'note://one', mimeType: 'text/plain' },
      { type: 'reference', text: 'the text of two', uri: 'note://two' },
      { type: 'reference', uri: 'note://three', data: 'JVBERi0=' },
      { type: 'media', mimeType: 'image/png' },
    ]);
  });

  test('what it links to is read by its own tool, and what it does not have is an error', () => {
    const [found, missing] = responsesIn(events).filter((event) => event.name === 'mcp_real_read_resource');
    expect(found?.llmContent).toEqual([
      { type: 'reference', text: 'the text of one', uri: 'note://one', mimeType: 'text/plain' },
    ]);
    expect(missing).toMatchObject({ isError: true, errorType: 'mcp_tool_error' });
  });

  test('a failure of the tool, and a throw inside, are mcp_tool_errors with what was said', () => {
    expect(answerOf('fail')).toMatchObject({ isError: true, errorType: 'mcp_tool_error' });
    expect(textIn(answerOf('fail'))).toBe('no such issue');
    expect(answerOf('throw')).toMatchObject({ isError: true, errorType: 'mcp_tool_error' });
    expect(textIn(answerOf('throw'))).toBe('it broke inside');
  });

  test('progress is shown with the call, and is in no history', () => {
    const { requestId } = answerOf('steps') as { requestId: string };
    const updates = events.filter(
      (event) => event.type === 'tool_update' && event.requestId === requestId && event.progress !== undefined,
    );
    expect(updates).toMatchObject([
      { progress: 0.25, content: [{ type: 'text', text: 'step 1' }], data: { progress: 1, total: 4 } },
      { progress: 0.5, content: [{ type: 'text', text: 'step 2' }], data: { progress: 2, total: 4 } },
    ]);
  });

  test('a model of ours is not lent to it', () => {
    expect(answerOf('sample')).toMatchObject({ isError: true, errorType: 'mcp_tool_error' });
    expect(textIn(answerOf('sample'))).toContain('sampling');
  });
});
