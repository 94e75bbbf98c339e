import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, type TestContext, test } from 'vitest';
import type { ToolUpdate } from '../../src/contracts/index.js';
import { agent, createHost } from '../../src/index.js';
import { expectNoLeaks, scriptedModel } from '../../src/testing/index.js';
import { type BubblewrapOptions, bubblewrap, type Sandbox } from '../../src/tools/sandbox.js';
import { workspaceTools } from '../../src/tools/workspace.js';
import { collect, ofType } from '../support/team.js';
import { namedPipe } from './processes.js';
import { callerOf, dataOf, type Folder, textOf, workspaceFolders } from './workspace-folder.js';
import '../support/process-limit.js';

const made = workspaceFolders();

describe('the port', () => {
  test('a command runs as the sandbox wraps it, and the tool is marked', async () => {
    const folder = await made();
    const asked: unknown[] = [];
    const sandbox: Sandbox = {
      available: async () => true,
      wrap(command, args, options) {
        asked.push([command, args.at(-1), options]);
        return { command: '/usr/bin/env', args: ['WRAPPED=yes', command, ...args] };
      },
    };
    const result = await callerOf(folder.root, undefined, { sandbox })('run_shell_command', {
      command: 'echo "$WRAPPED" $((1+1))',
    });
    expect(textOf(result)).toBe('yes 2\n');
    expect(asked).toEqual([[expect.stringMatching(/bash$/), 'echo "$WRAPPED" $((1+1))', { root: folder.root }]]);
    const [tool] = workspaceTools({ root: folder.root, only: ['run_shell_command'], sandbox });
    expect(tool?.descriptor.annotations).toMatchObject({ category: 'execute', sandboxed: true });
  });

  test('where it does not work, nothing is run', async () => {
    const folder = await made();
    const sandbox: Sandbox = {
      available: async () => false,
      wrap: (command, args) => ({ command, args }),
    };
    const call = callerOf(folder.root, undefined, { sandbox });
    const result = await call('run_shell_command', { command: 'touch made' });
    expect([result.isError, textOf(result)]).toEqual([
      true,
      'The sandbox does not work on this system. Nothing was run.',
    ]);
    expect(await readdir(folder.root)).toEqual([]);
  });
});

test.each([
  ['there is one that works', { available: async () => true }, undefined, 'ran\n'],
  ['there is one that does not work', { available: async () => false }, 'execution_failed', undefined],
  ['there is none', undefined, 'policy_denied', undefined],
])(
  'a rule that wants a sandbox lets a command run only where there is one that works: %s',
  async (_, port, errorType, text) => {
    const folder = await made();
    const sandbox = port && { ...port, wrap: (command: string, args: readonly string[]) => ({ command, args }) };
    const model = scriptedModel([{ toolCalls: [{ name: 'run_shell_command', args: { command: 'echo ran' } }] }, {}]);
    await using host = createHost({
      models: { scripted: model },
      tools: workspaceTools({ root: folder.root, ...(sandbox && { sandbox }) }),
      policy: [{ rules: [{ toolName: 'run_shell_command', decision: 'allow', sandbox: true }] }],
    });
    const events = await collect(host.run(agent({ name: 'coder', tools: ['run_shell_command'] }), 'go'));
    const [response] = ofType(events, 'tool_response');
    expect(response?.errorType).toBe(errorType);
    if (text !== undefined) expect(response?.llmContent).toEqual([{ type: 'text', text }]);
  },
);

test('bubblewrap that is not there is not available', async () => {
  expect(await bubblewrap({ bwrap: '/no/such/bwrap' }).available()).toBe(false);
});

test.each<[BubblewrapOptions]>([[{ writable: ['a'] }], [{ hidden: ['.ssh'] }], [{ bwrap: 'bwrap' }]])(
  'a relative path is refused: %o',
  (options) => {
    expect(() => bubblewrap(options)).toThrow(/is not an absolute path/);
  },
);

describe('bubblewrap', () => {
  async function run(
    { skip }: Pick<TestContext, 'skip'>,
    command: string,
    {
      folder,
      signal,
      progress = () => {},
      ...options
    }: BubblewrapOptions & { folder: Folder; signal?: AbortSignal; progress?: (update: ToolUpdate) => void },
  ) {
    const sandbox = bubblewrap(options);
    if (!(await sandbox.available())) skip('bubblewrap is not installed, or may not make namespaces here');
    const call = callerOf(folder.root, signal, { sandbox, progress, shell: { graceMs: 100 } });
    return expectNoLeaks(() => call('run_shell_command', { command }));
  }

  test('the workspace is written to, everything else is not', async (context) => {
    const folder = await made({ a: 'inside' });
    await folder.write('outside/f', 'theirs');
    const result = await run(
      context,
      `echo new > a; echo x > ${folder.outer}/outside/f; echo x > /etc/troupe-test; mount -o remount,rw / 2>&1; pwd; exit 5`,
      { folder },
    );
    expect(await readFile(join(folder.root, 'a'), 'utf8')).toBe('new\n');
    expect(await readFile(join(folder.outer, 'outside/f'), 'utf8')).toBe('theirs');
    await expect(readFile('/etc/troupe-test')).rejects.toThrow();
    expect(textOf(result)).toContain(`${folder.root}\n`);
    expect(dataOf(result)).toMatchObject({ exitCode: 5 });
  });

  test('temporary files are its own', async (context) => {
    const folder = await made();
    const result = await run(context, 'f=$(mktemp) && echo "$f"; ls /tmp | wc -l', { folder });
    const [path = ''] = textOf(result).split('\n');
    expect(path).toMatch(/^\/tmp\//);
    await expect(readFile(path)).rejects.toThrow();
  });

  test('what is hidden is not seen, nor are the sockets of services', async (context) => {
    const folder = await made({ 'keys/id': 'secret', 'src/a': 'a' });
    await folder.write('home/.token', 'secret');
    await folder.write('home/dir/key', 'secret');
    await symlink('home', join(folder.outer, 'alias'));
    const hidden = ['home/.token', 'home/dir', 'ws/keys', 'alias/gone'].map((path) => join(folder.outer, path));
    const result = await run(
      context,
      `cat ${folder.outer}/home/.token; ls -A ${folder.outer}/home/dir keys; ls /run; cat src/a`,
      { folder, hidden },
    );
    expect(textOf(result)).not.toContain('secret');
    expect(textOf(result)).not.toMatch(/key\n|id\n|\.sock/);
    expect(textOf(result).endsWith('a')).toBe(true);
  });

  test('a workspace inside what is hidden is seen', async (context) => {
    const folder = await made({ a: 'inside' });
    await folder.write('other', 'secret');
    const result = await run(context, `cat a; ls ..`, { folder, hidden: [folder.outer] });
    expect(textOf(result)).toBe('insidews\n');
  });

  test('other folders are written to where that is asked for', async (context) => {
    const folder = await made();
    const cache = join(folder.outer, 'cache');
    await mkdir(cache);
    await run(context, `echo x > ${cache}/f`, { folder, writable: [cache] });
    expect(await readFile(join(cache, 'f'), 'utf8')).toBe('x\n');
  });

  test('there is no network, unless it is asked for', async (context) => {
    const folder = await made();
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const command = `exec 3<>/dev/tcp/127.0.0.1/${port}`;
    try {
      expect((await run(context, command, { folder })).isError).toBe(true);
      expect(connections).toBe(0);
      expect((await run(context, command, { folder, network: 'host' })).isError).toBeUndefined();
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
    expect(connections).toBe(1);
  });

  test('other processes are not seen, and nothing gets away', async (context) => {
    if (!(await bubblewrap().available())) context.skip('bubblewrap is not installed, or may not make namespaces here');
    const folder = await made();
    const hold = namedPipe(join(folder.root, 'hold'));
    const controller = new AbortController();
    const [result] = await Promise.all([
      run(
        context,
        // What gets away says that it is ready, once it holds the pipe.
        `kill -0 ${process.pid}; setsid env -i bash -c 'exec 9>hold; echo ready; exec >&- 2>&-; sleep 1000' & sleep 1000`,
        {
          folder,
          signal: controller.signal,
          progress: ({ content }) => {
            if (JSON.stringify(content).includes('ready')) controller.abort();
          },
        },
      ),
      // Ends when the last who could write is gone.
      hold.readAll(),
    ]);
    expect(result.errorType).toBe('cancelled');
    expect(textOf(result, 1)).toContain('No such process');
  });
});
