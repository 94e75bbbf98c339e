import type { AgentEvent, AgentSession, HookPoint, HookResult } from '../../src/contracts/index.js';
import { agent, createHost, defineHook, type HostOptions, tool } from '../../src/index.js';
import { HOOK_POINTS } from '../../src/kernel/hook-points.js';
import { mockSession, scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from './team.js';

export type Fired = {
  point: HookPoint;
  threadId: string | undefined;
  principalPath: string;
  payload: Record<string, unknown>;
};

/** A hook at every point that notes what it was told, and what `says` says. */
export function watchAll(says: Partial<Record<HookPoint, (payload: never) => unknown>> = {}) {
  const fired: Fired[] = [];
  const hooks = HOOK_POINTS.filter((point) => point !== 'on_event').map((point) =>
    defineHook(point, ((payload: Record<string, unknown>) => {
      const { threadId, principalPath } = payload as unknown as Fired;
      fired.push({ point, threadId, principalPath, payload });
      return says[point]?.(payload as never);
    }) as never),
  );
  const at = (point: HookPoint) => fired.filter((one) => one.point === point);
  return { hooks, fired, at, points: () => fired.map(({ point }) => point) };
}

export const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } } },
  annotations: { readOnly: true },
  execute: () => 'seen',
});
export const looker = agent({ name: 'looker', tools: [look] });
export const script = () => scriptedModel([{ toolCalls: [{ name: 'look', args: { at: 'x' } }] }, { text: 'done' }]);

export const LOCAL_RUN = [
  ...['session_start', 'on_user_message', 'before_run', 'before_agent'],
  ...['before_model', 'before_tool_selection', 'after_model', 'before_tool', 'after_tool'],
  ...['before_model', 'before_tool_selection', 'after_model'],
  ...['after_agent', 'after_run', 'session_end'],
];

export async function runAll(options: HostOptions, team: Parameters<ReturnType<typeof createHost>['run']>[0] = looker) {
  const host = createHost(options);
  const run = host.run(team, 'go');
  const events = await collect(run);
  const result = await run.result;
  await host.close();
  return { events, result };
}

export const says = (text: string) => ({
  type: 'message',
  messageId: 'm',
  role: 'agent',
  content: [{ type: 'text', text }],
});

export function foreign(): AgentSession {
  return mockSession(function* (data) {
    if (data.kind === 'message')
      yield {
        type: 'tool_request',
        requestId: 'a',
        name: 'look',
        args: { at: 'x' },
        messageId: 'm',
        index: 0,
      } as never;
    else {
      yield says('done') as never;
      yield { type: 'stream_end', reason: 'completed' } as never;
    }
  });
}

export const guest = agent({
  name: 'looker',
  tools: [look],
  executor: 'foreign',
  capabilities: ['streaming', 'host_tool_execution'],
});
export const MODEL_POINTS: readonly string[] = ['before_model', 'before_tool_selection', 'after_model'];
export const only = (point: HookPoint, run: (payload: never) => unknown) => [defineHook(point, run as never)];
export const changes = (modifications: object): HookResult => ({
  action: 'proceed',
  modifications: modifications as never,
});
export const errorsOf = (events: readonly AgentEvent[]) =>
  ofType(events, 'error').map(({ code, message }) => [code, message]);
/** An agent that causes a notice in its first turn. */
export function noticing() {
  return agent({
    name: 'looker',
    model: scriptedModel([{ error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: 1 } }, { text: 'ok' }]),
  });
}
