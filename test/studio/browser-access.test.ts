import { agent, createHost, parallel, sequential, tool } from 'troupe';
import { scriptedModel } from 'troupe/testing';
import { describe, expect, test } from 'vitest';
import { noBrowser } from '../support/browser-page.js';
import { BROWSER_PATIENCE, browserOfTests } from '../support/browser-tests.js';

const VIEWS = ['transcript', 'statechart', 'team', 'timeline', 'compare'];

/** Text that stands out too little from what is behind it: below 4.5 to 1, or 3 to 1 where it is large. */
const pale = `(() => {
  const pixel = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const colorOf = (text) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = text;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((at) => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
  const light = (color) => {
    const [r, g, b] = color.map((one) => (one / 255 <= 0.03928 ? one / 3294.6 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const groundOf = (element) => {
    const layers = [];
    for (let one = element; one !== null; one = one.parentElement) layers.push(colorOf(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const found = [];
  for (const element of document.querySelectorAll('#studio *')) {
    const hasText = [...element.childNodes].some((one) => one.nodeType === 3 && one.nodeValue.trim() !== '');
    if (!hasText || element.disabled || element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    const text = colorOf(element instanceof SVGElement ? style.fill : style.color);
    for (let one = element; one !== null; one = one.parentElement) text[3] *= Number(getComputedStyle(one).opacity);
    let ground = groundOf(element);
    const box = element instanceof SVGElement ? element.closest('[data-ref]')?.querySelector('rect') : undefined;
    if (box) ground = over(colorOf(getComputedStyle(box).fill), ground);
    const [one, other] = [light(over(text, ground)), light(ground)];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) found.push(element.textContent.slice(0, 40) + ' ' + ratio.toFixed(2));
  }
  return found;
})()`;

/** Whether the page is wider than there is room, and the controls that lie beside it. */
const beside = `(() => {
  const room = document.documentElement.clientWidth;
  const wide = document.documentElement.scrollWidth > room ? ['the page is ' + document.documentElement.scrollWidth] : [];
  for (const control of document.querySelectorAll('button, input, select, textarea')) {
    const { left, right, width } = control.getBoundingClientRect();
    const scrolls = control.closest('.virtual, .drawing-frame') !== null;
    if (width > 0 && !scrolls && (left < -1 || right > room + 1)) wide.push(control.outerHTML.slice(0, 100));
  }
  return wide;
})()`;

describe.skipIf(noBrowser !== undefined)('Studio for everybody, in a browser', { timeout: BROWSER_PATIENCE }, () => {
  const browser = browserOfTests();
  const { closing } = browser;

  /** A team of which two members wait for an approval. */
  async function openTeam() {
    const danger = tool({ name: 'danger', description: 'd', parameters: { type: 'object' }, execute: () => 'done' });
    const member = <const Name extends string>(name: Name) => agent({ name, tools: [danger] });
    const gather = parallel({ name: 'gather', children: [member('facts'), member('critic')] });
    const team = sequential({ name: 'report', children: [gather, agent({ name: 'writer' })] });
    const call = [{ thought: 'hm', toolCalls: [{ name: 'danger', args: { path: 'x' } }] }, { text: 'done' }];
    const model = scriptedModel({ byAgent: { facts: call, critic: call, writer: [{ text: 'written' }] } });
    const host = createHost({ models: { scripted: model }, agents: [team] });
    closing.push(() => host.close());
    const { url } = await host.inspectServer();
    const run = host.run(team, 'go');
    const reading = (async () => {
      for await (const _ of run);
    })();
    const { page } = browser;
    const show = async (view: string) => {
      await page.goto('about:blank');
      await page.goto(`${url}#/1/${run.sessionId}/gather_1.critic_2?view=${view}`);
      await page.locator('.card').nth(1).waitFor();
      await page.locator('.tree-row').first().waitFor();
    };
    return { page, show, reading };
  }

  test('half a screen, a page at twice its size and a phone have all of it: nothing lies beside the page', async () => {
    const { page, show } = await openTeam();
    for (const [width, height] of [
      [1_024, 700],
      [720, 430],
      [360, 640],
    ] as const) {
      await page.setViewportSize({ width, height });
      for (const view of VIEWS) {
        await show(view);
        await page.getByRole('tab', { name: view }).click();
        expect(await page.evaluate<string[]>(beside), `${view} at ${width}`).toEqual([]);
      }
    }
    await page.setViewportSize({ width: 360, height: 640 });
    await show('statechart');
    await page.locator('.lit[data-ref="session.awaitingElicitation"]').waitFor();
    // What is lit comes into sight within its picture; whoever reads the question stays there.
    expect(await page.evaluate<number>('scrollY')).toBe(0);
    await page.setViewportSize({ width: 1_440, height: 860 });
  });

  test('every text stands out enough from what is behind it, in light and dark', async () => {
    const { page, show } = await openTeam();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const view of VIEWS) {
        await show(view);
        expect(await page.evaluate<string[]>(pale), `${view}, ${colorScheme}`).toEqual([]);
      }
    }
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' });
  });

  test('whoever answers by keyboard goes on in the inbox, and behind the last answer at its button', async () => {
    const { page, show, reading } = await openTeam();
    await show('transcript');
    const focused = () =>
      page.evaluate<string>(
        'document.activeElement.id || document.activeElement.className || document.activeElement.tagName',
      );
    await page.locator('.card').first().getByRole('button', { name: 'Allow once' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.card').nth(1).waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('inbox-list');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    while ((await page.locator(':focus').textContent()) !== 'Allow once') await page.keyboard.press('Tab');
    expect(await page.locator('.card').count()).toBe(1);
    await page.keyboard.press('Enter');
    await page.locator('.card').waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('inbox-toggle');
    await reading;
  });

  test('a fork of a run under way has not ended: it says so, and goes on when it is told to', async () => {
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
    const team = agent({ name: 'a', tools: [slow] });
    const model = scriptedModel([
      { toolCalls: [{ name: 'slow', args: {} }] },
      { text: 'the fork went on' },
      { text: 'x' },
    ]);
    const host = createHost({ models: { scripted: model }, agents: [team] });
    closing.push(() => host.close());
    const { url } = await host.inspectServer();
    const run = host.run(team, 'go');
    const { page } = browser;
    await page.goto(`${url}#/1/${run.sessionId}/`);
    await page.locator('.tree-row').getByText('in a tool').waitFor();
    await page.getByRole('button', { name: 'Fork here' }).click();
    await page.locator('.totals').getByText('not ended').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.message').getByText('the fork went on').waitFor();
    await page.locator('.totals').getByText('completed').waitFor();
    await page.getByLabel('Next message').waitFor();
    release('now');
    expect((await run.result).ok).toBe(true);
    expect(browser.complaints).toEqual([]);
  });
});
