import { expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent, ModelRequest, ToolDefinition } from '../../src/contracts/index.js';
import { agent, createHost, type Host, type Run, sequential, tool } from '../../src/index.js';
import { fileStore } from '../../src/stores/file.js';
import { scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import { readAnswering } from '../support/broken-log.js';
import { logOf } from '../support/team.js';
import { type VirtualFiles, virtualFiles } from '../support/virtual-files.js';

const dir = '/data';
/** What the system says, and what a caller is told. */
const CODES = { ENOSPC: 'STORE_FULL', EDQUOT: 'STORE_FULL', EROFS: 'STORE_READ_ONLY', EACCES: 'STORE_DENIED' };

/** A disk that refuses everything about the session `bad`, from the write on that has `text`, or that what `on` names asks for. */
function failing(disk: VirtualFiles, code: string, { text, on }: Place): VirtualFiles {
  const paths = new Map<number, string>();
  let hasBegun = false;
  const isAbout = (path: string | undefined) => path?.includes('/bad') === true;
  const refuse = (path: string | undefined, doing: string) => {
    if (isAbout(path) && (hasBegun || doing === on)) {
      hasBegun = true;
      throw Object.assign(new Error(`${code}: ${path}`), { code });
    }
  };
  return Object.assign(Object.create(disk) as VirtualFiles, {
    async open(path: string, flags: string, mode?: number) {
      if (flags !== 'r') refuse(path, path.endsWith('.lock') || path.endsWith('/lock') ? 'lock' : 'open');
      const fd = await disk.open(path, flags, mode);
      paths.set(fd, path);
      return fd;
    },
    async write(fd: number, bytes: Uint8Array, position?: number | null) {
      const path = paths.get(fd);
      if (text !== undefined && isAbout(path) && Buffer.from(bytes).includes(text)) hasBegun = true;
      refuse(path, 'write');
      return disk.write(fd, bytes, position);
    },
    async datasync(fd: number) {
      refuse(paths.get(fd), 'datasync');
      return disk.datasync(fd);
    },
    async mkdir(path: string, recursive?: boolean) {
      refuse(path, 'create');
      return disk.mkdir(path, recursive);
    },
    async link(from: string, to: string) {
      refuse(to, 'lock');
      return disk.link(from, to);
    },
    async rename(from: string, to: string) {
      refuse(to, 'rename');
      return disk.rename(from, to);
    },
  });
}

interface Place {
  /** In the record whose write is the first that fails. */
  text?: string;
  /** The first of these that fails. */
  on?: 'create' | 'lock' | 'datasync';
}

const places: Record<string, Place> = {
  'it is made': { on: 'create' },
  'it is locked': { on: 'lock' },
  'it is synced': { on: 'datasync' },
  'the first message is written': { text: '"type":"message"' },
  'a call is written': { text: '"type":"tool_request"' },
  'the question about a call is written': { text: '"type":"elicitation_request"' },
  'its answer is written': { text: '"type":"elicitation_response"' },
  'the start of a call is written': { text: '"kind":"tool_started"' },
  'its result is written': { text: '"type":"tool_response"' },
  'the end of an agent is written': { text: '"type":"agent_completed"' },
  'the end is written': { text: '"last words"' },
};

const pay = (ran: string[], logOfBad: () => string) =>
  tool({
    name: 'pay',
    description: 'pays',
    parameters: { type: 'object' },
    async execute(_, { sessionId }) {
      if (sessionId === 'bad') ran.push(logOfBad());
      await undefined;
      return 'paid';
    },
  });

const team = (payTool: ToolDefinition) =>
  sequential({ name: 'team', children: [agent({ name: 'a', tools: [payTool] }), agent({ name: 'b' })] });

const models = () => ({
  scripted: scriptedModel({
    byAgent: {
      a: ({ messages }: ModelRequest) =>
        messages.length === 1 ? { toolCalls: [{ name: 'pay', args: {} }] } : { text: 'A' },
      b: () => ({ text: 'last words' }),
    },
  } as never),
});

const cases = Object.entries(places).flatMap(([place, what]) =>
  Object.entries(CODES).map(([system, code]) => ({ place, what, system, code })),
);

test.each(cases)(
  'where the store fails with $system as $place, the run ends, its consumer is told once, and others go on',
  async ({ what, system, code }) => {
    const disk = virtualFiles();
    const store = fileStore({ dir, files: failing(disk, system, what) });
    const logPath = `${dir}/sessions/bad/log.jsonl`;
    const ran: string[] = [];
    const definition = team(pay(ran, () => disk.text(logPath)));
    await using host = createHost({ models: models(), store, clock: virtualClock() });
    const [bad, good] = await Promise.all([readAll(host, definition, 'bad'), readAll(host, definition, 'good')]);

    expect(good.result?.reason).toBe('completed');
    expect(validateLog(await logOf(store, 'good'), { finished: true })).toEqual([]);
    // What ran stands in the log by then.
    for (const log of ran) expect(log).toContain('"kind":"tool_started"');
    if (what.on === 'create') {
      expect(bad.thrown).toMatchObject({ code });
      return;
    }
    expect(bad.result).toMatchObject({ reason: 'failed', data: { code } });
    expect(bad.seen.filter(({ type }) => type === 'error')).toMatchObject([{ code, fatal: true }]);
    expect(bad.seen.filter(({ type, threadId }) => type === 'stream_end' && threadId === undefined)).toHaveLength(1);
    expect(bad.seen.at(-1)).toMatchObject({ type: 'stream_end', reason: 'failed' });

    // The disk has room again: what is stored is a beginning of it, and the run goes on from there.
    const again = fileStore({ dir, files: disk });
    const log = await logOf(again, 'bad');
    expect(validateLog(log)).toEqual([]);
    if (!log.some(({ type }) => type === 'message')) return;
    await using next = createHost({ models: models(), store: again, clock: virtualClock() });
    const resumed = await readAnswering(await next.resume('bad', { agent: definition }), undefined);
    expect(resumed.at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
    expect(ran).toHaveLength(1);
    expect(validateLog(await logOf(again, 'bad'), { finished: true })).toEqual([]);
  },
);

async function readAll(host: Host, definition: AgentDefinition, sessionId: string) {
  const run = host.run(definition, 'go', { sessionId });
  const seen: AgentEvent[] = [];
  try {
    for await (const event of run) {
      seen.push(event);
      if (event.type === 'elicitation_request') answer(run, event.requestId);
    }
    return { seen, result: await run.result, thrown: undefined };
  } catch (thrown) {
    return { seen, result: undefined, thrown };
  }
}

/** It may have been withdrawn by then. */
function answer(run: Run, requestId: string): void {
  try {
    run.respond(requestId, { action: 'accept' });
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: 'UNKNOWN_REQUEST' });
  }
}
