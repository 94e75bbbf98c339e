import { agent, createHost, type HostOptions, loop, parallel, sequential, tool } from 'troupe';
import type { AgentDefinition, AgentEvent } from 'troupe/contracts';
import { memoryStore } from 'troupe/stores/memory';
import { scriptedModel } from 'troupe/testing';
import { describe, expect, test } from 'vitest';
import { noBrowser } from '../support/browser-page.js';
import { BROWSER_PATIENCE, browserOfTests, foreignParts } from '../support/browser-tests.js';
import '../support/process-limit.js';

const leaf = (name: string) => agent({ name, description: name });

describe.skipIf(noBrowser !== undefined)('Studio in a browser', { timeout: BROWSER_PATIENCE }, () => {
  const browser = browserOfTests();
  const { closing } = browser;

  async function open(team: AgentDefinition, byAgent: Record<string, unknown>, options: HostOptions = {}) {
    const host = createHost({ models: { scripted: scriptedModel({ byAgent } as never) }, agents: [team], ...options });
    closing.push(() => host.close());
    const server = await host.inspectServer();
    await browser.page.goto(server.url);
    await browser.page.getByText('Choose a session').waitFor();
    return { host, server, page: browser.page };
  }

  async function start(input: string) {
    const { page } = browser;
    await page.getByRole('button', { name: 'Start a run' }).click();
    await page.getByLabel('Input').fill(input);
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.locator('.tree-row').first().waitFor();
  }

  const row = (threadId: string) => browser.page.locator(`[id="thread-${threadId}"]`);

  test('a run is started, an approval three levels deep in a parallel branch is answered, states light up, the past is shown and forked', async () => {
    let runs = 0;
    const danger = tool({
      name: 'danger',
      description: 'd',
      parameters: { type: 'object' },
      execute: () => `ran ${++runs}`,
    });
    const review = parallel({ name: 'p', children: [agent({ name: 'a', tools: [danger] }), leaf('b')] });
    const team = sequential({
      name: 's',
      children: [loop({ name: 'l', maxIterations: 1, children: [review] }), leaf('c')],
    });
    const { page, host } = await open(team, {
      a: [{ toolCalls: [{ name: 'danger', args: { path: 'x' } }] }, { text: 'a is done' }],
      b: [{ text: 'B' }],
      c: [{ text: 'the end of it' }],
    });
    await start('go');
    const card = page.locator('.card');
    await card.getByText('s › l › p › a').click();
    await row('l_1.p_1.a_1').and(page.locator('.is-selected')).getByText('asks you').waitFor();
    await page.getByRole('tab', { name: 'Statechart' }).click();
    await page.locator('.lit[data-ref="session.awaitingElicitation"]').waitFor();

    await page.reload();
    await page.locator('.lit[data-ref="session.awaitingElicitation"]').waitFor();
    // Steps from before the page was loaded are there to go through.
    await page.locator('.step').getByText('session.message').waitFor();
    await page.locator('.step').first().click();
    await page.locator('.lit[data-ref="session.idle"]').waitFor();
    await page.locator('.step').last().click();
    await page.locator('.lit[data-ref="session.awaitingElicitation"]').waitFor();
    await card.getByRole('button', { name: 'Allow once' }).click();
    await page.locator('.totals').getByText('completed').waitFor();
    expect(runs).toBe(1);
    await expect.poll(() => page.locator('.lit[data-ref="session.awaitingElicitation"]').count()).toBe(0);
    expect(await page.getByText(/ of \d+ · /).count()).toBe(1);

    await page.getByRole('tab', { name: 'Team' }).click();
    await page.locator('.is-completed[data-ref="c"]').waitFor();
    await page.getByRole('tab', { name: 'Transcript' }).click();
    await row('c_2').click();
    await page.locator('.message').getByText('the end of it').waitFor();

    // Back to where `c` had not begun.
    const position = page.getByLabel('Position in the log');
    await row('l_1.p_1.a_1').click();
    await page.locator('.entry.question .moment').click();
    await row('l_1.p_1.a_1').getByText('asks you').waitFor();
    expect(await row('c_2').count()).toBe(0);
    expect(Number(await position.inputValue())).toBeGreaterThan(3);
    expect(page.url()).toMatch(/seq=\d+/);
    await page.getByRole('button', { name: 'Fork here' }).click();
    await expect
      .poll(async () => (await host.list()).filter(({ forkedFrom }) => forkedFrom !== undefined).length)
      .toBe(1);
    await page.locator('.session.is-selected').getByText('fork').waitFor();
    expect(browser.complaints).toEqual([]);
  });

  test('a run is steered, one of its threads aborted, then all of it', async () => {
    const stuck = tool({
      name: 'stuck',
      description: 's',
      parameters: { type: 'object' },
      annotations: { readOnly: true },
      execute: (_args, { signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    });
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
    const callOf = (name: string) => ({ toolCalls: [{ name, args: {} }] });
    const members = [agent({ name: 'a', tools: [stuck] }), agent({ name: 'b', tools: [slow] })];
    const { page } = await open(parallel({ name: 'p', children: members }), {
      a: [callOf('stuck')],
      b: [callOf('slow'), callOf('slow')],
    });
    await start('go');
    await row('a_1').getByText('in a tool').waitFor();
    await row('b_2').click();
    await row('b_2').getByText('in a tool').waitFor();
    await page.getByLabel('Steer', { exact: true }).fill('hurry up');
    await page.locator('.control').getByRole('button', { name: 'Steer' }).click();
    await expect.poll(() => page.getByLabel('Steer', { exact: true }).inputValue()).toBe('');
    release('at last');
    await page.locator('.transcript').getByText('hurry up').waitFor();
    await row('a_1').click();
    await page.getByRole('button', { name: 'Abort a', exact: true }).click();
    await row('a_1').getByText('aborted').waitFor();
    await row('b_2').getByText('in a tool').waitFor();
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.locator('.timeline canvas').hover({ position: { x: 500, y: 24 + 22 * 2 + 11 } });
    await page.locator('.hint').getByText('slow').waitFor();
    await page.getByRole('button', { name: 'Abort all' }).click();
    await page.locator('.totals').getByText('aborted').waitFor();
    expect(browser.complaints).toEqual([]);
  });

  test('the keyboard is enough: through the tree, to the filter, to the help, to a run and its answer', async () => {
    const { page } = await open(parallel({ name: 'p', children: [leaf('a'), leaf('b')] }), {
      a: [{ text: 'A says' }],
      b: [{ text: 'B says' }],
    });
    await page.keyboard.press('n');
    await page.getByLabel('Input').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('go');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.totals').getByText('completed').waitFor();
    await page.locator('#tree').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.locator('.message').getByText('B says').waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    expect(await page.locator('.tree-row').count()).toBe(1);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('/');
    await page.keyboard.type('b_2');
    await expect.poll(() => page.locator('.tree-row').count()).toBe(2);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('whatever agents, models and tools say is text: nothing of it becomes part of the page', async () => {
    const attacks = [
      '<script>window.pwned = 1</script>',
      '<img src=x onerror="window.pwned = 1">',
      '<svg onload="window.pwned=1"><foreignObject><iframe srcdoc="x"></iframe></foreignObject></svg>',
      '[click](javascript:window.pwned=1) javascript:window.pwned=1',
      '\u202eesrever\u202c \u0007\u001b[2J \ud800 lone \udc00',
      '{{constructor.constructor("window.pwned=1")()}}',
    ].join('\n');
    let deep: unknown = attacks;
    for (let at = 0; at < 20; at++) deep = { [attacks]: deep };
    const loud = tool({
      name: 'loud',
      description: attacks,
      parameters: { type: 'object' },
      execute: () => ({
        llmContent: [{ type: 'text', text: attacks.repeat(4_000) }],
        displayContent: [
          { type: 'text', text: `--- a\n+++ b\n@@ -1 +1 @@\n+${attacks}` },
          { type: 'media', mimeType: 'image/svg+xml', data: Buffer.from(attacks).toString('base64') },
          { type: 'media', mimeType: 'text/html', uri: 'javascript:window.pwned=1' },
          { type: 'reference', text: attacks, uri: 'javascript:window.pwned=1' },
          { type: 'ui', format: attacks, data: attacks },
          { type: attacks, [attacks]: attacks } as never,
        ],
      }),
    });
    const { page } = await open(sequential({ name: 's', children: [agent({ name: 'a', tools: [loud] })] }), {
      a: [
        {
          thought: attacks,
          text: [attacks, 'x'.repeat(1_200_000)],
          toolCalls: [{ name: 'loud', args: { deep, [attacks]: attacks } }],
        },
        { text: attacks },
      ],
    });
    await start(attacks);
    const card = page.locator('.card');
    await card.waitFor();
    const isClean = () => page.evaluate<string[]>(foreignParts);
    expect(await isClean()).toEqual([]);
    await card.getByRole('button', { name: 'Allow once' }).click();
    await page.locator('.totals').getByText('completed').waitFor();
    await row('a_1').click();
    await page.getByText('Thought').first().click();
    await page.getByText('Show more').first().waitFor();
    expect(await isClean()).toEqual([]);
    for (const view of ['Statechart', 'Team', 'Timeline', 'Transcript']) {
      await page.getByRole('tab', { name: view }).click();
      expect(await isClean()).toEqual([]);
    }
    expect(await page.evaluate<number>('document.body.textContent.length')).toBeLessThan(200_000);
    await page.getByText('Show more').first().click();
    expect(await isClean()).toEqual([]);
    expect(browser.complaints).toEqual([]);
  });

  test('1,000 threads and 100,000 events: the page holds what is in sight, and goes to any moment', async () => {
    const store = memoryStore();
    const handle = await store.create('p', { id: 'long', appName: 'troupe' });
    let seq = 0;
    const append = (draft: Record<string, unknown>, at: number) =>
      handle.append({
        id: `e${++seq}`,
        seq,
        timestamp: new Date(1_700_000_000_000 + at).toISOString(),
        ...draft,
      } as AgentEvent);
    append({ type: 'initialize', sessionId: 'long', agent: { name: 'p', description: '' } }, 0);
    const threads = 1_000;
    for (let at = 0; at < threads; at++) append({ type: 'agent_started', agentName: 'w', threadId: `w_${at + 1}` }, at);
    for (let turn = 0; seq < 99_000; turn++) {
      const threadId = `w_${(turn % threads) + 1}`;
      const at = 1_000 + turn * 10;
      append(
        {
          type: 'tool_request',
          requestId: `t${turn}`,
          name: 'look',
          args: { turn },
          messageId: `m${turn}`,
          index: 0,
          threadId,
        },
        at,
      );
      append(
        {
          type: 'tool_response',
          requestId: `t${turn}`,
          name: 'look',
          llmContent: [{ type: 'text', text: 'seen' }],
          threadId,
        },
        at + 5,
      );
      append(
        {
          type: 'message',
          role: 'agent',
          messageId: `m${turn}`,
          content: [{ type: 'text', text: `turn ${turn} `.repeat(8) }],
          threadId,
        },
        at + 7,
      );
      append({ type: 'usage', inputTokens: 10, outputTokens: 5, cost: { usd: 0.001 }, threadId }, at + 8);
    }
    const last = 1_000_000;
    for (let at = 0; at < threads; at++)
      append({ type: 'stream_end', reason: 'completed', threadId: `w_${at + 1}` }, last + at);
    append({ type: 'stream_end', reason: 'completed' }, last + threads);
    await handle.close();

    const { page } = await open(leaf('p'), {}, { store } as HostOptions);
    await page.locator('.session').first().click();
    await page.locator('.totals').getByText('completed').waitFor();
    const elements = () => page.evaluate<number>("document.querySelectorAll('*').length");
    await expect.poll(() => page.locator('.tree-row').count()).toBeGreaterThan(10);
    expect(await elements()).toBeLessThan(2_500);
    await page.locator('#tree').focus();
    await page.keyboard.press('End');
    await row('w_1000').click();
    await page.locator('.transcript').getByText('turn 23999 ').waitFor();
    expect(await elements()).toBeLessThan(2_500);
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.locator('.timeline canvas').waitFor();
    await page.getByRole('tab', { name: 'Transcript' }).click();
    for (const at of [90_000, 10, 50_000]) await page.getByLabel('Position in the log').fill(String(at));
    await page.getByLabel('Position in the log').fill('5001');
    await expect.poll(() => page.locator('.where').textContent()).toContain('5001 /');
    await row('w_1000').waitFor();
    const memory = await page.evaluate<number>('performance.memory.usedJSHeapSize');
    expect(memory).toBeLessThan(600_000_000);
    expect(browser.complaints).toEqual([]);
  });
});
