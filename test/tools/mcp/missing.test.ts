import { expect, test } from 'vitest';
import { loadSdk } from '../../../src/tools/mcp/sdk.js';

const failing = (message: string, code: string) => () => Promise.reject(Object.assign(new Error(message), { code }));

test('without the optional peer the message says how to install it', async () => {
  const missing = "Cannot find package '@modelcontextprotocol/client' imported from mcp.js";
  await expect(loadSdk(failing(missing, 'ERR_MODULE_NOT_FOUND'))).rejects.toMatchObject({
    name: 'TroupeError',
    code: 'MISSING_PACKAGE',
    message:
      'MCP servers need the package @modelcontextprotocol/client, which is not installed: npm i @modelcontextprotocol/client@2.4.0',
  });
});

test('another fault of the package is told as it is', async () => {
  const other = failing("Cannot find package 'zod'", 'ERR_MODULE_NOT_FOUND');
  await expect(loadSdk(other)).rejects.toThrow("Cannot find package 'zod'");
  await expect(loadSdk(failing('it is broken', 'ERR_X'))).rejects.toThrow('it is broken');
});

test('the package is there for these tests', async () => {
  expect(await loadSdk()).toHaveProperty('Client');
});
