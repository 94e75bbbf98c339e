import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';

/** Why there is no browser here; undefined where there is one. */
export const noBrowser: string | undefined =
  process.platform === 'linux' && process.arch === 'x64' ? undefined : 'the browser comes for Linux on x64 only';

export interface OpenBrowser {
  readonly page: Page;
  /** What the page complained of: errors, and what its policy kept it from. */
  readonly complaints: string[];
  close(): Promise<void>;
}

/** A page in a real Chromium. It runs in one process: to close a page closes all, so one page is all there is. */
export async function openBrowser(colorScheme: 'light' | 'dark' = 'light'): Promise<OpenBrowser> {
  const browser: Browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    args: [
      ...chromium.args,
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--enable-precise-memory-info',
    ],
    headless: true,
    timeout: 120_000,
  });
  const context = await browser.newContext({ viewport: { width: 1_440, height: 860 }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return { page, complaints, close: () => browser.close() };
}
