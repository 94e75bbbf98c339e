import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agent, createHost } from '../../../src/index.js';
import { expectNoLeaks, scriptedModel, virtualClock } from '../../../src/testing/index.js';
import { mcpTools } from '../../../src/tools/mcp.js';
import { runFile } from '../../examples/jiti-process.js';
import { createWitness, type Witness } from '../../support/mcp-witness.js';
import { collect } from '../../support/team.js';
import { call, hostileServer, mcpHost, noticesIn, responsesIn, runScript, stdioServer, textIn } from './hosted.js';
import '../../support/process-limit.js';

let witness: Witness;
beforeEach(async () => {
  witness = await createWitness();
});
afterEach(() => witness.close());

const starts = () => witness.events.filter(({ event }) => event === 'started').length;

test('after the host is closed nothing is left: no process, no pipe, no timer', () =>
  expectNoLeaks(async () => {
    await runScript({ servers: { real: stdioServer([], witness.env) } }, [call('mcp_real_echo', { text: 'hi' })]);
    const { data } = await witness.event('started');
    expect(() => process.kill((data as { pid: number }).pid, 0)).toThrow('ESRCH');
    expect(starts()).toBe(1);
  }));

test('a server that ignores the end of its input and SIGTERM is gone all the same, with what it started', () =>
  expectNoLeaks(async () => {
    const { host, run } = mcpHost({ servers: { real: stdioServer(['stubborn'], witness.env) } }, [
      call('mcp_real_helper'),
      { text: 'done' },
    ]);
    await collect(run());
    await witness.event('helper');
    await host.close();
    await witness.allGone();
    expect(witness.events.map(({ event }) => event)).toContain('sigterm');
  }));

test('what a server started is ended with it when it dies by itself', async () => {
  const { host, run } = mcpHost({ servers: { real: stdioServer([], witness.env) } }, [
    call('mcp_real_helper'),
    call('mcp_real_die'),
    { text: 'done' },
  ]);
  await collect(run());
  await witness.allGone();
  await host.close();
});

test('a host that is closed while a server starts leaves no process behind', () =>
  expectNoLeaks(async () => {
    for (const kind of ['silent', 'hang-list']) {
      const { host, run } = mcpHost({ servers: { slow: hostileServer(kind, witness.env) } }, []);
      const running = run();
      await witness.event(kind === 'silent' ? 'got' : 'listed');
      await host.close();
      await expect(running.result).rejects.toMatchObject({ code: 'HOST_CLOSED' });
      await witness.allGone();
    }
  }));

test('a host that is closed at once starts no process at all', () =>
  expectNoLeaks(async () => {
    const { host, run } = mcpHost({ servers: { real: stdioServer([], witness.env) } }, []);
    const running = run();
    await host.close();
    await expect(running.result).rejects.toMatchObject({ code: 'HOST_CLOSED' });
    expect(starts()).toBe(0);
  }));

test('a host that is closed during a call ends the call and the server', () =>
  expectNoLeaks(async () => {
    const { host, run } = mcpHost({ servers: { real: stdioServer([], witness.env) } }, [call('mcp_real_hang')]);
    const running = run();
    const collected = collect(running);
    await witness.event('hanging');
    await host.close();
    expect(responsesIn(await collected)).toMatchObject([{ errorType: 'cancelled' }]);
    await witness.allGone();
  }));

test.each(['dual', 'legacy'])('a call that is aborted is told to the server, %s, and others go on', async (era) => {
  const { host, run } = mcpHost({ servers: { real: stdioServer([era], witness.env) } }, [
    call('mcp_real_hang'),
    call('mcp_real_echo', { text: 'still here' }),
    { text: 'done' },
  ]);
  const running = run();
  const collected = collect(running);
  await witness.event('hanging');
  running.abort('enough', { requestId: 'c1' });
  await witness.event('cancelled');
  expect(responsesIn(await collected).map((event) => [event.errorType, textIn(event)])).toEqual([
    ['cancelled', 'cancelled: enough'],
    [undefined, 'still here'],
  ]);
  expect(starts()).toBe(1);
  await host.close();
});

test('one connection serves all sessions of a host; another host has its own', async () => {
  const servers = { real: stdioServer([], witness.env) };
  const place = async (runs: number) => {
    const entries = Array.from({ length: runs }, () => [call('mcp_real_place'), { text: 'done' }]).flat();
    const { host, run } = mcpHost({ servers }, entries);
    const pids = new Set<number>();
    for (let at = 0; at < runs; at++) {
      const [response] = responsesIn(await collect(run()));
      pids.add((JSON.parse(textIn(response)) as { pid: number }).pid);
    }
    await host.close();
    return [...pids];
  };
  const first = await place(3);
  const second = await place(1);
  expect(first).toHaveLength(1);
  expect(second).not.toEqual(first);
  expect(starts()).toBe(2);
});

test('a server that dies fails its call, is told, and is started again by the next', async () => {
  const { events, notices } = await runScript({ servers: { real: stdioServer([], witness.env) } }, [
    call('mcp_real_die'),
    call('mcp_real_echo', { text: 'back' }),
    call('mcp_real_echo', { text: 'and on' }),
  ]);
  expect(responsesIn(events).map((event) => [event.errorType, textIn(event)])).toEqual([
    ['mcp_tool_error', 'the MCP server "real" went away: it exited with code 3'],
    [undefined, 'back'],
    [undefined, 'and on'],
  ]);
  expect(notices).toEqual([
    {
      code: 'MCP_SERVER_LOST',
      severity: 'warning',
      text: 'the MCP server "real" is gone (it exited with code 3); the next call connects to it again',
    },
  ]);
  expect(starts()).toBe(2);
});

test('a server that dies at every call is left alone for longer each time, and then used again', async () => {
  const clock = virtualClock();
  const { host, run } = mcpHost(
    { servers: { bad: hostileServer('leave-each', witness.env) } },
    Array.from({ length: 8 }, () => [call('mcp_bad_work'), { text: 'done' }]).flat(),
    { clock },
  );
  const once = async () => textIn(responsesIn(await collect(run()))[0]);
  const gone = 'the MCP server "bad" went away: it exited with code 4';
  expect(await once()).toBe(gone);
  // At once again, the first time.
  expect(await once()).toBe(gone);
  expect(await once()).toBe('the MCP server "bad" is away; it is tried again in 1 s');
  await clock.advance(1_000);
  expect(await once()).toBe(gone);
  expect(await once()).toBe('the MCP server "bad" is away; it is tried again in 2 s');
  expect(starts()).toBe(3);
  await clock.advance(2_000);
  expect(await once()).toBe(gone);
  expect(starts()).toBe(4);
  await host.close();
  expect(clock.pending).toBe(0);
});

test('the time of a call counts while its server is connected again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-mcp-'));
  const clock = virtualClock();
  const { host, run } = mcpHost(
    // It answers as long as there is no such file, which it makes.
    {
      servers: { bad: hostileServer('leave', { ...witness.env, MARK: join(folder, 'was-here') }) },
      callTimeoutMs: 900,
    },
    [call('mcp_bad_work'), call('mcp_bad_fine'), { text: 'done' }],
    { clock },
  );
  const collected = collect(run());
  await witness.event('started', 2);
  await clock.advance(900);
  expect(responsesIn(await collected).map(textIn)).toEqual([
    'the MCP server "bad" went away: it exited with code 0',
    'the MCP server "bad" did not answer within 900 ms',
  ]);
  await host.close();
  await witness.allGone();
  rmSync(folder, { recursive: true });
});

test('a program that ends without closing its host takes its servers with it', async () => {
  const { code, err } = await runFile('test/support/mcp-exit.ts', [], { env: witness.env });
  expect([code, err]).toEqual([7, '']);
  await witness.allGone();
  expect(witness.events.map(({ event }) => event)).toEqual(['started', 'helper']);
});

test('a server that cannot be started is told with what it said, without its secrets, and other servers are used', async () => {
  const { tools, notices, events } = await runScript(
    {
      servers: {
        bad: hostileServer('crash', { TOKEN: 'tok-123456' }),
        missing: { command: 'no-such-program-here' },
        real: stdioServer([], witness.env),
      },
    },
    [call('mcp_real_echo', { text: 'hi' })],
  );
  expect(responsesIn(events).map(textIn)).toEqual(['hi']);
  expect(tools.every(({ name }) => name.startsWith('mcp_real_'))).toBe(true);
  expect(notices.map(({ text }) => text).sort()).toEqual([
    'the MCP server "bad" cannot be used: it exited with code 1; it wrote: cannot start: bad token ***',
    'the MCP server "missing" cannot be used: spawn no-such-program-here ENOENT',
  ]);
});

test('a server that is not ready in time is given up, and tried again by a later run', async () => {
  const clock = virtualClock();
  const { host, run } = mcpHost(
    { servers: { slow: hostileServer('hang-list', witness.env) }, connectTimeoutMs: 5_000 },
    [{ text: 'one' }, { text: 'two' }],
    { clock },
  );
  const first = collect(run());
  await witness.event('listed');
  await clock.advance(5_000);
  expect(noticesIn(await first)).toMatchObject([
    { code: 'MCP_SERVER_FAILED', text: 'the MCP server "slow" cannot be used: it did not answer within 5000 ms' },
  ]);
  await witness.allGone();
  await clock.advance(500);
  const second = collect(run());
  await witness.event('listed', 2);
  await clock.advance(5_000);
  expect((await second).at(-1)).toMatchObject({ reason: 'completed' });
  await host.close();
  expect(clock.pending).toBe(0);
});

test('an agent that names tools of a server that is away runs without them', async () => {
  const model = scriptedModel([{ text: 'done' }]);
  await using host = createHost({
    models: { scripted: model },
    tools: [mcpTools({ servers: { bad: hostileServer('crash') } })],
  });
  const named = agent({ name: 'a', tools: ['mcp_bad_work'] });
  const run = host.run(named, 'go');
  const events = await collect(run);
  expect((await run.result).ok).toBe(true);
  expect(noticesIn(events)).toMatchObject([{ code: 'MCP_SERVER_FAILED' }]);
  expect(model.requests[0]?.tools ?? []).toEqual([]);
});

test('servers that no agent of a run may use are not started', async () => {
  const model = scriptedModel([{ text: 'done' }]);
  await using host = createHost({
    models: { scripted: model },
    tools: [mcpTools({ servers: { one: stdioServer([], witness.env), two: hostileServer('silent', witness.env) } })],
  });
  await collect(host.run(agent({ name: 'a', tools: ['mcp_one_echo'] }), 'go'));
  expect(starts()).toBe(1);
});

test('a server that ends at a question it does not know is asked in the old way', async () => {
  const { events, notices } = await runScript({ servers: { old: hostileServer('leave-at-probe', witness.env) } }, [
    call('mcp_old_fine'),
  ]);
  expect(responsesIn(events).map(textIn)).toEqual(['fine']);
  expect(notices).toEqual([]);
  expect(starts()).toBe(2);
});
