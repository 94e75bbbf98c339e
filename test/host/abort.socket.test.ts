import { expect, test } from 'vitest';
import { createHost } from '../../src/index.js';
import { openaiModel } from '../../src/models/openai.js';
import { expectNoLeaks } from '../../src/testing/index.js';
import { scriptedServer, sse } from '../support/scripted-server.js';
import { leaf, textIn } from '../support/team.js';

const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });

test('B065: an abort after the first piece closes the socket, and the stream ends aborted', async () => {
  await expectNoLeaks(async () => {
    const server = await scriptedServer();
    server.answer({ chunks: [sse(chunk('Hel'))], ending: 'hang' });
    const model = openaiModel({ name: 'x', apiKey: 'none', baseUrl: `${server.url}/v1` });
    const host = createHost({ models: { openai: model } });
    const session = host.session(leaf('a'));
    const { stream, controller } = session.stream({ kind: 'message', content: 'go' });
    const events = [];
    for await (const event of stream) {
      events.push(event);
      if (textIn([event]) === 'Hel') controller.abort('enough');
    }
    expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted', data: { reason: 'enough' } });
    expect(events.at(-1)).not.toMatchObject({ data: { forced: true } });
    expect(await server.lastRequest().closed).toBe('cut');
    expect(server.requests).toHaveLength(1);
    server.answer({
      chunks: [sse(chunk('again'), { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, '[DONE]')],
    });
    const next = [];
    for await (const event of session.stream({ kind: 'message', content: 'more' }).stream) next.push(event);
    expect(textIn(next)).toBe('again');
    await host.close();
    await server.close();
  });
});
