import { expect, test } from 'vitest';
import { createHost, TroupeError } from '../../../src/index.js';
import { type McpToolsOptions, mcpTools } from '../../../src/tools/mcp.js';

function problemsOf(options: unknown): string[] {
  try {
    mcpTools(options as McpToolsOptions);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) throw thrown;
    expect(thrown.code).toBe('INVALID_OPTION');
    return thrown.problems.map(({ path, message }) => `${path} ${message}`);
  }
}

test('all that is wrong is said at once, and nothing is started', () => {
  expect(
    problemsOf({
      servers: {
        both: { command: 'x', url: 'http://127.0.0.1' },
        none: {},
        text: 'npx server',
        program: { command: '', args: 'a b', env: { A: 1 }, cwd: '', enviroment: {} },
        address: { url: 'ftp://127.0.0.1', headers: { 'no header': 'x\n' } },
        secret: { url: 'http://me:word@127.0.0.1/', trust: 'yes' },
        ' ': { command: 'x\0y' },
      },
      connectTimeoutMs: 0,
      callTimeoutMs: Number.NaN,
      callTimeout: 5,
    }),
  ).toEqual([
    'mcpTools.callTimeout is unknown (did you mean "callTimeoutMs"?)',
    'mcpTools.connectTimeoutMs must be a number of milliseconds above 0',
    'mcpTools.callTimeoutMs must be a number of milliseconds above 0',
    'mcpTools.servers.both has both a command and a url: give one',
    'mcpTools.servers.none needs a command, or a url',
    'mcpTools.servers.text must be { command, args, env, cwd } or { url, headers }',
    'mcpTools.servers.program.enviroment is unknown here; known: command, args, env, cwd, trust',
    'mcpTools.servers.program.command must be the name or the path of a program',
    'mcpTools.servers.program.args must be a list of texts',
    'mcpTools.servers.program.env must be an object of texts',
    'mcpTools.servers.program.cwd must be the path of a folder',
    'mcpTools.servers.address.url must be an address that begins with http:// or https://',
    'mcpTools.servers.address.headers hold a name or a value that no header may have',
    'mcpTools.servers.secret.trust must be true or false',
    'mcpTools.servers.secret.url must hold no credentials: addresses are shown; give them as headers',
    'mcpTools.servers.  a server needs a name',
    'mcpTools.servers. .command must be the name or the path of a program',
  ]);
  expect(problemsOf({ servers: [] })).toEqual(['mcpTools.servers must be an object: { name: { command } or { url } }']);
});

test('servers whose tools could not be told apart by a pattern are refused, in either order', () => {
  const server = { command: 'x' };
  const said = (...names: string[]) => problemsOf({ servers: Object.fromEntries(names.map((name) => [name, server])) });
  const clash = 'its tools could not be told from those of "git" (mcp_git_… and mcp_git_lab_…); rename one';
  expect(said('git', 'git_lab')).toEqual([`mcpTools.servers.git_lab ${clash}`]);
  expect(said('git_lab', 'git')).toEqual(said('git', 'git_lab'));
  expect(said('git', 'gitlab', 'git-lab')).toEqual([]);
});

test('two toolsets of one host may not have servers of one name either', () => {
  const one = () => mcpTools({ servers: { git: { command: 'x' } } });
  expect(() => createHost({ tools: [one(), one()] })).toThrow('two named "mcp: git"; rename one');
  expect(() => createHost({ tools: [one(), mcpTools({ servers: { git_x: { command: 'x' } } })] })).toThrow(
    '"mcp: git_x" brings tools named mcp_git_x_…, "mcp: git" tools named mcp_git_…; rename one',
  );
});

test('a toolset says what the names of its tools begin with, by server name, and starts nothing by itself', () => {
  const toolset = mcpTools({ servers: { b: { command: 'x' }, a: { url: 'http://127.0.0.1:9/mcp' } } });
  expect(toolset).toMatchObject({ kind: 'toolset', name: 'mcp: a, b', prefixes: ['mcp_a_', 'mcp_b_'] });
});
