import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { agent, createHost, tool } from '../../src/index.js';
import { fileStore } from '../../src/stores/file.js';
import { serveA2a } from '../../src/surfaces/a2a.js';
import { type Script, scriptedModel } from '../../src/testing/index.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface TaskJson {
  id: string;
  contextId: string;
  status: { state: string; message?: { parts: { text?: string }[] } };
}

/** A server on a store in this folder. */
async function serve(folder: string, script: Script) {
  const model = scriptedModel(script);
  const host = createHost({ models: { scripted: model }, store: fileStore({ dir: folder }) });
  const danger = tool({ name: 'danger', description: 'Deletes.', execute: () => 'ran' });
  const server = await serveA2a(host, agent({ name: 'near', tools: [danger] }));
  const rpc = async (method: string, params: unknown) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(server.url, { method: 'POST', headers: { 'a2a-version': '1.0' }, body });
    return (await response.json()) as { result?: { task: TaskJson }; error?: { code: number } };
  };
  const close = async () => {
    await server.close();
    await host.close();
  };
  return { model, rpc, close };
}

const say = (text: string, more: object = {}) => ({
  message: { messageId: text, role: 'ROLE_USER', parts: [{ text }], ...more },
});

async function folders() {
  const root = await mkdtemp(join(tmpdir(), 'a2a-restart-'));
  closing.push(() => rm(root, { recursive: true, force: true }));
  return { before: join(root, 'before'), after: join(root, 'after') };
}

test('after a restart a context goes on with what was said in it; its tasks are not known any more', async () => {
  const { before } = await folders();
  const first = await serve(before, [{ text: 'noted' }]);
  const { id, contextId } = (await first.rpc('SendMessage', say('My name is Ann.'))).result!.task;
  await first.close();
  const second = await serve(before, [{ text: 'Ann' }]);
  closing.push(second.close);
  expect((await second.rpc('GetTask', { id })).error?.code).toBe(-32001);
  expect((await second.rpc('SendMessage', say('Hm?', { taskId: id, contextId }))).error?.code).toBe(-32001);
  const { status } = (await second.rpc('SendMessage', say('Who am I?', { contextId }))).result!.task;
  expect(status.state).toBe('TASK_STATE_COMPLETED');
  expect(JSON.stringify(second.model.requests[0]?.messages)).toMatch(/My name is Ann.*noted.*Who am I/);
});

test('a context that was cut off is gone on with: its question is asked again, and what was said meanwhile is heard', async () => {
  const { before, after } = await folders();
  const first = await serve(before, [{ toolCalls: [{ name: 'danger', args: {} }] }]);
  closing.push(first.close);
  const { contextId, status } = (await first.rpc('SendMessage', say('Delete it.'))).result!.task;
  expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  // As a process leaves it that ends without a word.
  await cp(before, after, { recursive: true, filter: (path) => !path.endsWith('.lock') });
  const second = await serve(after, [{ text: 'It is gone.' }]);
  closing.push(second.close);
  // No answer to a question that it has not seen.
  const asked = (await second.rpc('SendMessage', say('yes', { contextId }))).result!.task;
  expect([asked.status.state, asked.status.message?.parts[0]?.text]).toEqual([
    'TASK_STATE_INPUT_REQUIRED',
    'near wants to run near.danger',
  ]);
  expect(second.model.requests).toEqual([]);
  const { status: ended } = (await second.rpc('SendMessage', say('Yes.', { taskId: asked.id }))).result!.task;
  expect(ended.state).toBe('TASK_STATE_COMPLETED');
  expect(JSON.stringify(second.model.requests[0]?.messages)).toMatch(/Delete it.*ran.*yes/);
});
