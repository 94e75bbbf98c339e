import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agent, createHost, type HostOptions } from 'troupe';
import type { AgentEvent, SessionProvider } from 'troupe/contracts';
import { fileStore } from 'troupe/stores/file';
import { memoryStore } from 'troupe/stores/memory';
import { scriptedModel } from 'troupe/testing';
import { describe, expect, test } from 'vitest';
import { runFile } from '../examples/jiti-process.js';
import { noBrowser } from '../support/browser-page.js';
import { BROWSER_PATIENCE, browserOfTests, foreignParts } from '../support/browser-tests.js';
import '../support/process-limit.js';

const leaf = agent({ name: 'a', description: 'a' });

const ATTACK =
  '</script><img src=x onerror="window.pwned=1"><svg onload="window.pwned=1"> javascript:alert(1) \u202egnp\u202c \u0007\u001b[2J \ud800 {{7*7}}';

/** Every field of every type holds the same. */
function everyField(given: unknown): object[] {
  const [threadId, requestId] = [given, given];
  const of = (type: unknown, fields: object) => ({ type, ...fields });
  const parts = ['text', 'thought', 'code', 'code_result', 'media', 'reference', 'refusal', 'ui', given].map(
    (type) => ({
      type,
      text: given,
      thought: given,
      code: given,
      output: given,
      mimeType: given,
      data: given,
      uri: given,
      format: given,
      language: given,
    }),
  );
  const context = { tool: given, args: given, principalPath: given, rule: given, commands: [given], diff: given };
  return [
    of('message', { role: 'user', messageId: given, content: parts }),
    of('agent_started', { agentName: given, threadId }),
    of('agent_started', { agentName: '__proto__', threadId: '__proto__' }),
    of('agent_started', { agentName: 'constructor', threadId: 'constructor.toString' }),
    of('message', { role: given, messageId: given, content: parts, threadId }),
    of('message', { role: 'agent', messageId: 'm', content: given }),
    of('usage', { model: given, inputTokens: given, outputTokens: given, cost: { usd: given }, threadId }),
    of('tool_request', {
      requestId,
      name: given,
      displayName: given,
      title: given,
      args: { [ATTACK]: given },
      threadId,
    }),
    of('tool_update', { requestId, status: given, progress: given, content: parts, threadId }),
    of('tool_response', { requestId, llmContent: parts, displayContent: parts, data: given, isError: true, threadId }),
    of('elicitation_request', {
      requestId,
      kind: given,
      title: given,
      message: given,
      context,
      expiresAt: given,
      threadId,
    }),
    of('elicitation_response', { requestId, action: given, content: given, threadId }),
    of('agent_transfer', { from: given, to: given, reason: given, threadId }),
    of('loop_iteration', { iteration: given, maxIterations: given, threadId }),
    of('session_update', { permissionMode: given, model: given }),
    of('custom', { kind: given, data: given, threadId }),
    of('custom', { kind: 'notice', data: { code: given, text: given, severity: given }, threadId }),
    of('error', { code: given, message: given, threadId }),
    of(given, { threadId }),
    of('agent_completed', { agentName: given, result: given, threadId }),
    of('stream_end', { reason: given, data: { code: given, message: given, result: given }, threadId }),
    of('stream_end', { reason: given, data: given }),
  ];
}

describe.skipIf(noBrowser !== undefined)('Studio over a store, in a browser', { timeout: BROWSER_PATIENCE }, () => {
  const browser = browserOfTests();
  const { closing } = browser;

  async function open(store: SessionProvider, options: HostOptions = {}) {
    const host = createHost({ store, agents: [leaf], ...options });
    closing.push(() => host.close());
    const { url } = await host.inspectServer();
    return { url, page: browser.page };
  }

  test('whatever a stored log says, in whatever field and of whatever kind, is text, and leaves the page whole', async () => {
    const store = memoryStore();
    const shapes: readonly unknown[] = [ATTACK, 'x'.repeat(200_000), null, 5, {}, [null], { toString: 1 }];
    for (const [at, given] of shapes.entries()) {
      const id = `s${at}`;
      const title = typeof given === 'string' ? given : 't';
      const handle = await store.create(ATTACK.slice(0, 40), { id, appName: 'troupe', title });
      const drafts = [
        {
          type: 'initialize',
          sessionId: id,
          agent: { name: typeof given === 'string' ? given : 'a', description: '' },
        },
        ...everyField(given),
      ];
      for (const [place, draft] of drafts.entries()) {
        const timestamp = new Date(1_700_000_000_000 + place * 100).toISOString();
        await handle.append({ id: `${id}-${place}`, seq: place + 1, timestamp, ...draft } as AgentEvent);
      }
      await handle.close();
    }
    const { url, page } = await open(store);
    const views = ['transcript', 'timeline', 'statechart', 'team', 'compare'];
    for (const at of shapes.keys())
      for (const view of at === 0 ? views : views.slice(0, 2)) {
        await page.goto('about:blank');
        await page.goto(`${url}#/1/s${at}/?view=${view}`);
        await page.locator('.tree-row').first().waitFor();
        const rows = Math.min(4, await page.locator('.tree-row').count());
        for (let row = 0; row < rows; row++) {
          await page.locator('.tree-row').nth(row).click();
          expect(await page.evaluate<string[]>(foreignParts)).toEqual([]);
        }
        for (const moment of [2, 9, 15]) await page.getByLabel('Position in the log').fill(String(moment));
        await page.locator('.tree-row').first().waitFor();
        expect(await page.evaluate<string[]>(foreignParts)).toEqual([]);
        expect(await page.locator('[role=alert]').count()).toBe(0);
      }
    expect(browser.complaints).toEqual([]);
  });

  test('what another process does to the store is seen as it comes: a new session, a new run, a deletion', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'troupe-studio-'));
    closing.push(() => rm(dir, { recursive: true, force: true }));
    const script = join(dir, 'script.json');
    await writeFile(script, JSON.stringify([{ text: 'said in another process' }]));
    await writeFile(join(dir, 'a.agent.md'), '---\nname: a\ndescription: a\nmodel: scripted\n---\nBe brief.\n');
    const { url, page } = await open(fileStore({ dir: join(dir, 'store') }));
    await page.goto(url);
    await page.getByText('No session yet').waitFor();
    const command = ['run', join(dir, 'a.agent.md'), 'go', '--script', script, '--store', join(dir, 'store')];
    expect(await runFile('src/cli/main.ts', command)).toMatchObject({ code: 0 });
    await page.locator('.session').click();
    await page.locator('.message').getByText('said in another process').waitFor();
    const others = fileStore({ dir: join(dir, 'store') });
    const models = { scripted: scriptedModel([{ text: 'said in a later run' }]) };
    const other = createHost({ store: others, models });
    closing.push(() => other.close());
    const [{ id = '' } = {}] = await others.list();
    const same = agent({ name: 'a', description: 'a', model: 'scripted', instruction: 'Be brief.' });
    await other.run(same, 'more', { sessionId: id }).result;
    await page.locator('.message').getByText('said in a later run').waitFor();
    await page.locator('.totals').getByText('completed').waitFor();
    await other.delete(id);
    await page.getByText('No session yet').waitFor();
    await page.getByText('This session cannot be shown').waitFor();
    expect(browser.complaints).toEqual([]);
  });
});
