import { afterAll, afterEach, beforeAll } from 'vitest';
import { type OpenBrowser, openBrowser } from './browser-page.js';

/** How long tests in a browser may take on a busy machine, in ms. */
export const BROWSER_PATIENCE = 180_000;

/** One browser for the tests of a `describe`. What is put into `closing` is called behind each test, the last first. */
export function browserOfTests() {
  let browser: OpenBrowser | undefined;
  const closing: (() => Promise<unknown>)[] = [];
  const opened = (): OpenBrowser => {
    if (browser === undefined) throw new Error('the browser is opened before the first test, and not earlier');
    return browser;
  };
  beforeAll(async () => {
    browser = await openBrowser();
  }, BROWSER_PATIENCE);
  afterAll(() => browser?.close());
  afterEach(async () => {
    await opened().page.goto('about:blank');
    opened().complaints.length = 0;
    for (const close of closing.splice(0).reverse()) await close();
  });
  return {
    closing,
    get page() {
      return opened().page;
    },
    get complaints() {
      return opened().complaints;
    },
  };
}

/** What in the page is not of its own making: tags and attributes that could run, and characters that hide. */
export const foreignParts = String.raw`(() => {
  const found = [];
  for (const element of document.querySelectorAll('*')) {
    const isOurs = element.tagName === 'SCRIPT' && element.src.startsWith(location.origin + '/assets/');
    if (/^(script|iframe|object|embed|foreignobject|base|a|link|style)$/i.test(element.tagName) && !isOurs)
      if (element.closest('#studio') !== null) found.push(element.outerHTML.slice(0, 200));
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name) || /^\s*javascript:/i.test(value)) found.push(name + '=' + value.slice(0, 100));
      if (element.closest('#studio') === null || !/^(href|src|srcdoc|action|formaction|xlink:href)$/i.test(name)) continue;
      if (!/^data:image\/(png|jpeg|gif|webp|avif);/.test(value)) found.push(name + '=' + value.slice(0, 100));
    }
  }
  if ('pwned' in window) found.push('pwned');
  const hidden = /[\u202a-\u202e\u2066-\u2069\u0007\u001b]/.exec(document.body.innerText);
  if (hidden !== null) found.push('invisible character ' + hidden[0].codePointAt(0));
  return found;
})()`;
