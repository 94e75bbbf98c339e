import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Request } from 'playwright-core';
import { agent, createHost, type HostOptions, sequential, tool } from 'troupe';
import type { AgentDefinition } from 'troupe/contracts';
import { fileStore } from 'troupe/stores/file';
import { scriptedModel } from 'troupe/testing';
import { describe, expect, test } from 'vitest';
import { noBrowser } from '../support/browser-page.js';
import { BROWSER_PATIENCE, browserOfTests } from '../support/browser-tests.js';

const leaf = (name: string) => agent({ name, description: name });

describe.skipIf(noBrowser !== undefined)(
  'Studio in a browser, when things are not as they should be',
  {
    timeout: BROWSER_PATIENCE,
  },
  () => {
    const browser = browserOfTests();
    const { closing } = browser;

    function newHost(team: AgentDefinition, byAgent: Record<string, unknown>, options: HostOptions = {}) {
      const host = createHost({
        models: { scripted: scriptedModel({ byAgent } as never) },
        agents: [team],
        ...options,
      });
      closing.push(() => host.close());
      return host;
    }

    const openSession = async (url: string, sessionId: string, more = '') => {
      // Another address of the same page is no other page to a browser.
      await browser.page.goto('about:blank');
      await browser.page.goto(`${url}#/1/${sessionId}/${more}`);
      await browser.page.locator('.tree-row').first().waitFor();
    };

    test('a session is taken back to where one looks: what came after is gone, and it goes on from there', async () => {
      const team = leaf('a');
      const host = newHost(team, { a: [{ text: 'the first' }, { text: 'the second' }, { text: 'another second' }] });
      const { sessionId } = await host.run(team, 'one').result;
      await host.run(team, 'two', { sessionId }).result;
      const { url } = await host.inspectServer();
      await openSession(url, sessionId);
      const { page } = browser;
      await page.locator('.message').getByText('the second').waitFor();
      await page.locator('.entry.message').filter({ hasText: 'two' }).locator('.moment').first().click();
      await page.getByRole('button', { name: 'One event back' }).click();
      expect(await page.locator('.message').getByText('the second').count()).toBe(0);
      page.once('dialog', (dialog) => void dialog.accept());
      await page.getByRole('button', { name: 'Rewind to here' }).click();
      await page.getByRole('button', { name: 'Now', exact: true }).waitFor();
      await page.locator('.message').getByText('the second').waitFor({ state: 'detached' });
      await page.locator('.message').getByText('the first').waitFor();
      await page.getByLabel('Next message').fill('two again');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.locator('.message').getByText('another second').waitFor();
      expect(browser.complaints).toEqual([]);
    });

    test('two runs are compared side by side: figures of each agent, and what the same thread said', async () => {
      const team = sequential({ name: 's', children: [leaf('a'), leaf('b')] });
      const host = newHost(team, {
        a: [{ text: 'A once' }, { text: 'A twice' }],
        b: [{ text: 'B once' }, { text: 'B' }],
      });
      const first = await host.run(team, 'go').result;
      const second = await host.run(team, 'go').result;
      const { url } = await host.inspectServer();
      await openSession(url, first.sessionId, 'a_1?view=compare');
      const { page } = browser;
      await page.getByLabel('Compare with').selectOption(JSON.stringify(['1', second.sessionId]));
      const sides = page.locator('.compare-sides .transcript .message');
      await sides.getByText('A once').waitFor();
      await sides.getByText('A twice').waitFor();
      expect(await page.locator('.compare-figures tbody th').allTextContents()).toEqual(['whole run', 's', 'a', 'b']);
      await page.reload();
      await sides.getByText('A twice').waitFor();
      expect(browser.complaints).toEqual([]);
    });

    test('a damaged log is shown as far as it goes: said at the top, and marked where a part of it is missing', async () => {
      const dir = await mkdtemp(join(tmpdir(), 'troupe-studio-'));
      closing.push(() => rm(dir, { recursive: true, force: true }));
      const team = sequential({ name: 's', children: [leaf('a'), leaf('b')] });
      const before = newHost(team, { a: [{ text: 'A' }], b: [{ text: 'B' }] }, { store: fileStore({ dir }) });
      const { sessionId } = await before.run(team, 'go').result;
      await before.close();
      const files = await readdir(dir, { recursive: true });
      const file = join(dir, files.find((name) => name.endsWith('.jsonl') && name.includes(sessionId)) ?? '');
      const lines = (await readFile(file, 'utf8')).split('\n');
      const lost = lines.findIndex((line) => line.includes('"message"') && line.includes('"B"'));
      expect(lost).toBeGreaterThan(0);
      lines[lost] = '<script>window.pwned = 1</script> no record';
      await writeFile(file, lines.join('\n').slice(0, -30));
      const host = newHost(team, {}, { store: fileStore({ dir }) });
      const { url } = await host.inspectServer();
      await openSession(url, sessionId, 'b_2');
      const { page } = browser;
      await page.getByText('Some of the log cannot be read').click();
      await page.locator('.gaps li').filter({ hasText: '1 lines lost' }).waitFor();
      await page.locator('.entry.gap').getByText('A part of the log is lost here').waitFor();
      expect(await page.locator('.message').getByText('B', { exact: true }).count()).toBe(0);
      await page.locator('[id="thread-a_1"]').click();
      await page.locator('.message').getByText('A', { exact: true }).waitFor();
      await page.getByRole('tab', { name: 'Timeline' }).click();
      await page.locator('.timeline').getByText('a part of the log is lost (2)').waitFor();
      // A line across, where no lane paints red.
      const isMarked = `(() => {
        const canvas = document.querySelector('.timeline canvas');
        const [r, g, b] = getComputedStyle(document.querySelector('.timeline .swatch.bad')).backgroundColor.match(/\\d+/g);
        const { data } = canvas.getContext('2d').getImageData(0, canvas.height - 8, canvas.width, 1);
        for (let at = 0; at < data.length; at += 4)
          if (data[at] === +r && data[at + 1] === +g && data[at + 2] === +b) return true;
        return false;
      })()`;
      await page.waitForFunction(isMarked);
      expect(await page.evaluate<boolean>("'pwned' in window")).toBe(false);
    });

    test('the server goes and comes back: the page says so, takes up where it was, and misses nothing', async () => {
      let release: (value: string) => void = () => {};
      const slow = tool({
        name: 'slow',
        description: 's',
        parameters: { type: 'object' },
        annotations: { readOnly: true },
        execute: () =>
          new Promise<string>((resolve) => {
            release = resolve;
          }),
      });
      const call = { toolCalls: [{ name: 'slow', args: {} }] };
      const team = agent({ name: 'a', tools: [slow] });
      const host = newHost(team, {
        a: [call, { text: 'said meanwhile', toolCalls: call.toolCalls }, { text: 'at last' }],
      });
      const token = 'a-token-that-stays-the-same';
      const first = await host.inspectServer({ token });
      const run = host.run(team, 'go');
      const reading = (async () => {
        for await (const _ of run);
      })();
      await openSession(first.url, run.sessionId, '?view=statechart');
      const { page } = browser;
      await page.locator('.lit[data-ref="session.awaitingTool"]').waitFor();
      await first.close();
      await page.locator('.session-head').getByText('connection lost').waitFor();
      await page.locator('.bar').getByText('not connected').waitFor();
      release('one');
      const again = await host.inspectServer({ token, port: Number(new URL(first.url).port) });
      expect(again.url).toBe(first.url);
      await page.locator('.bar').getByText('not connected').waitFor({ state: 'detached' });
      await page.locator('.session-head').getByText('connection lost').waitFor({ state: 'detached' });
      await page.getByRole('tab', { name: 'Transcript' }).click();
      await page.locator('.message').getByText('said meanwhile').waitFor();
      release('two');
      await page.locator('.message').getByText('at last').waitFor();
      await reading;
      await page.getByRole('tab', { name: 'Statechart' }).click();
      await expect.poll(() => page.locator('.step').count()).toBe(7);
      expect(await page.locator('.step > :first-child').allTextContents()).toEqual([
        'idle',
        'running',
        'awaitingTool',
        'running',
        'awaitingTool',
        'running',
        'ended',
      ]);
    });

    test('a page that nobody sees holds no connection, its title says who waits, and it has missed nothing once it is seen', async () => {
      const danger = tool({ name: 'danger', description: 'd', parameters: { type: 'object' }, execute: () => 'done' });
      const team = agent({ name: 'a', tools: [danger] });
      const call = { toolCalls: [{ name: 'danger', args: {} }] };
      const host = newHost(team, { a: [{ text: 'before' }, call, { text: 'after' }] });
      const { sessionId } = await host.run(team, 'go').result;
      const { url } = await host.inspectServer();
      const { page } = browser;
      const held = new Set<string>();
      const pathOf = (address: string) => new URL(address).pathname;
      page.on('request', (request) => {
        if (pathOf(request.url()).endsWith('/stream')) held.add(pathOf(request.url()));
      });
      const drop = (request: Request) => void held.delete(pathOf(request.url()));
      page.on('requestfinished', drop);
      page.on('requestfailed', drop);
      const turn = (state: string) =>
        page.evaluate(`Object.defineProperty(document, 'visibilityState', { get: () => '${state}', configurable: true });
          document.dispatchEvent(new Event('visibilitychange'))`);
      await openSession(url, sessionId);
      await expect.poll(() => held.size).toBe(2);
      await turn('hidden');
      await expect.poll(() => held.size).toBe(0);
      const run = host.run(team, 'more', { sessionId });
      const reading = (async () => {
        for await (const _ of run);
      })();
      await expect.poll(() => page.title(), { timeout: 20_000 }).toBe('(1) Troupe Studio');
      expect(held.size).toBe(0);
      await turn('visible');
      await page.locator('.card').getByRole('button', { name: 'Allow once' }).click();
      await page.locator('.message').getByText('after').waitFor();
      await reading;
      expect(browser.complaints).toEqual([]);
      for (const name of ['request', 'requestfinished', 'requestfailed'] as const) page.removeAllListeners(name);
    });

    test('without a token there is no page; with one that is no more it says what to do', async () => {
      const host = newHost(leaf('a'), { a: [{ text: 'A' }] });
      const { sessionId } = await host.run(leaf('a'), 'go').result;
      const server = await host.inspectServer();
      const { page } = browser;
      const bare = await page.goto(new URL('/', server.url).href);
      expect(bare?.status()).toBe(403);
      expect(await page.locator('body').textContent()).toBe('');
      await openSession(server.url, sessionId);
      await server.close();
      await host.inspectServer({ port: Number(new URL(server.url).port) });
      await page.getByRole('button', { name: 'Fork here' }).click();
      await page
        .getByText('The token is not valid any more: open the address that was printed anew.')
        .first()
        .waitFor();
    });

    test('nothing moves where motion is to be reduced', async () => {
      const stuck = tool({
        name: 'stuck',
        description: 's',
        parameters: { type: 'object' },
        annotations: { readOnly: true },
        execute: (_args, { signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
      });
      const team = agent({ name: 'a', tools: [stuck] });
      const host = newHost(team, { a: [{ toolCalls: [{ name: 'stuck', args: {} }] }] });
      const { url } = await host.inspectServer();
      const run = host.run(team, 'go');
      void run.result;
      const moving = () =>
        browser.page.evaluate<number>("document.getAnimations().filter((one) => one.playState === 'running').length");
      await openSession(url, run.sessionId);
      await browser.page.locator('.tree-row.tone-run').waitFor();
      expect(await moving()).toBeGreaterThan(0);
      await browser.page.emulateMedia({ reducedMotion: 'reduce' });
      expect(await moving()).toBe(0);
      await browser.page.emulateMedia({ reducedMotion: 'no-preference' });
      run.abort('enough');
    });

    test('every control has a name, and the keys reach all of them', async () => {
      const team = sequential({ name: 's', children: [leaf('a'), leaf('b')] });
      const host = newHost(team, { a: [{ text: 'A' }], b: [{ text: 'B' }] });
      const { sessionId } = await host.run(team, 'go').result;
      const { url } = await host.inspectServer();
      const { page } = browser;
      for (const view of ['transcript', 'statechart', 'team', 'timeline', 'compare']) {
        await openSession(url, sessionId, `?view=${view}`);
        await page.getByRole('tab', { name: view }).and(page.locator('[aria-selected=true]')).waitFor();
        expect(await page.evaluate<string[]>(nameless)).toEqual([]);
      }
      await openSession(url, sessionId, '?view=statechart');
      await page.locator('.step').first().waitFor();
      const wanted = await page.evaluate<number>(`${reachable}.length`);
      const seen = new Set<string>();
      for (let at = 0; at < wanted + 5; at++) {
        await page.keyboard.press('Tab');
        seen.add(await page.evaluate<string>('document.activeElement.outerHTML'));
      }
      expect(seen.size).toBeGreaterThanOrEqual(wanted);
      await page.getByRole('button', { name: 'One step back' }).focus();
      await page.keyboard.press('Enter');
      await page.locator('.lit[data-ref="sequential.concluding"]').waitFor();
      await page.keyboard.press('ArrowLeft');
      await page.locator('.lit[data-ref="sequential.running"]').waitFor();
    });
  },
);

/** Controls without a name that could be said. */
const nameless = `[...document.querySelectorAll('button, input, select, textarea, [role=tree], [role=img]')]
  .filter((one) => {
    const label = one.getAttribute('aria-label') ?? '';
    const labels = [...(one.labels ?? [])].map((each) => each.textContent).join('');
    return (label + labels + (one.textContent ?? '') + (one.title ?? '')).trim() === '';
  })
  .map((one) => one.outerHTML.slice(0, 120))`;

/** What the Tab key should come to: one of several rows of a list is enough. */
const reachable = `[...document.querySelectorAll('button, input, select, [tabindex="0"]')]
  .filter((one) => !one.disabled && one.tabIndex >= 0 && one.offsetParent !== null)`;
