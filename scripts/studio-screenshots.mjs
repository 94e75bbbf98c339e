// Takes the screenshots of Studio in docs/: the demo's team reports on this repository, offline, and is looked at while
// its critic waits for an approval. Run it after a build: `node scripts/studio-screenshots.mjs`. Linux on x64 only.
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import chromium from '@sparticuz/chromium';
import { createJiti } from 'jiti';
import { chromium as playwright } from 'playwright-core';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const jiti = createJiti(import.meta.url);
/** @type {typeof import('troupe')} */
const { createHost } = await jiti.import('troupe');
/** @type {typeof import('troupe/tools/workspace')} */
const { readOnlyWorkspaceTools, workspaceTools } = await jiti.import('troupe/tools/workspace');
/** @type {typeof import('../examples/demo/team.ts')['default']} */
const team = await jiti.import('../examples/demo/team.ts', { default: true });
/** @type {typeof import('../examples/demo/offline/offline-model.ts')} */
const { offlineModel } = await jiti.import('../examples/demo/offline/offline-model.ts');

const host = createHost({
  models: { scripted: offlineModel({ delayMs: 150 }) },
  tools: workspaceTools({ root, only: readOnlyWorkspaceTools }),
  policy: [{ rules: [{ toolName: 'read_file', principal: 'critic', decision: 'ask_user', priority: 500 }] }],
  agents: [team],
});
const server = await host.inspectServer();
const browser = await playwright.launch({
  executablePath: await chromium.executablePath(),
  args: [...chromium.args, '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  headless: true,
  timeout: 120_000,
});
try {
  const context = await browser.newContext({ viewport: { width: 1440, height: 820 }, colorScheme: 'light' });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(server.url);
  await page.getByRole('button', { name: 'Start a run' }).click();
  await page.getByLabel('Input').fill(`Report on the folder "${basename(root)}".`);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.locator('.card').waitFor();
  await page.locator('.card .link').click();

  /** @param {string} name @param {import('playwright-core').Locator} ready */
  const shoot = async (name, ready) => {
    await ready.waitFor();
    await page.mouse.move(700, 4);
    for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(500);
      await page.screenshot({ path: join(root, 'docs', `studio-${name}${colorScheme === 'dark' ? '-dark' : ''}.png`) });
    }
  };
  /** @param {string} name */
  const view = (name) => page.getByRole('tab', { name }).click();
  await view('Statechart');
  await shoot('statechart', page.locator('.lit[data-ref="session.awaitingElicitation"]'));
  await view('Timeline');
  await shoot('timeline', page.locator('.timeline canvas'));
  await view('Team');
  await shoot('team', page.locator('.is-waiting[data-ref="critic"]'));
  await view('Transcript');
  await shoot('inbox', page.locator('.entry.tool').last());
  await page.getByRole('button', { name: 'Inbox' }).click();
  await page.locator('[id="thread-look_1.structure_2"]').click();
  await shoot('transcript', page.locator('.entry.tool').first());
} finally {
  await browser.close();
  await server.close();
  await host.close();
}
