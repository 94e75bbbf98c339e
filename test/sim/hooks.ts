import type { AnyHookDefinition, HookResult } from '../../src/contracts/index.js';
import { defineHook } from '../../src/index.js';
import type { HookPlan } from './plan.js';
import type { World } from './world.js';

/** The hooks of a plan, as one process has them. */
export const hooksOf = (world: World): AnyHookDefinition[] => world.plan.hooks.map((plan) => hookOf(world, plan));

const GOES_ON: HookResult = { action: 'proceed' };

function hookOf(world: World, plan: HookPlan): AnyHookDefinition {
  const { pick } = world;
  /** What is drawn for one asking: nothing, or what the plan says that it does. */
  const drawn = async (what: string): Promise<HookPlan['does'] | undefined> => {
    const does = pick.chance(plan.chance) ? plan.does : undefined;
    if (does !== undefined) world.trace(`hook ${plan.point} ${does} ${what}`);
    if (does === 'wait') await world.sleep(pick.of([0, 1, 10, 200]), undefined);
    if (does === 'throw') throw new Error(`the hook at ${plan.point} broke`);
    return does;
  };
  switch (plan.point) {
    case 'before_tool':
      return defineHook('before_tool', async ({ requestId, args }) => {
        try {
          const does = await drawn(requestId);
          if (does === 'block') throw new Error('not this one');
          if (does !== 'change') return GOES_ON;
        } catch (thrown) {
          // A guard that breaks blocks as one does that says so.
          world.forbidden.add(requestId);
          if (plan.does === 'throw') throw thrown;
          return { action: 'block', reason: 'not this one' };
        }
        const mark = ++world.marks;
        world.marked.set(requestId, mark);
        return { action: 'proceed', modifications: { args: { ...(args as object), mark } } };
      });
    case 'after_tool':
      return defineHook('after_tool', async ({ requestId }) => {
        const does = await drawn(requestId);
        if (does === 'block') return { action: 'block', reason: 'nobody may see it' };
        return does === 'change' ? { action: 'proceed', modifications: { additionalContext: 'mind that' } } : GOES_ON;
      });
    case 'before_model':
      return defineHook('before_model', async () => {
        const does = await drawn('');
        if (does === 'block') return { action: 'block', reason: 'not now' };
        if (does !== 'change') return GOES_ON;
        return {
          action: 'proceed',
          modifications: { response: { content: [{ type: 'text', text: 'said by a hook' }], finishReason: 'stop' } },
        };
      });
    case 'after_model':
      return defineHook('after_model', async () => {
        const does = await drawn('');
        return does === 'block' ? { action: 'block', reason: 'not so' } : GOES_ON;
      });
    case 'on_user_message':
      return defineHook('on_user_message', async () => {
        const does = await drawn('');
        if (does === 'block') return { action: 'block', reason: 'not that' };
        if (does !== 'change') return GOES_ON;
        return { action: 'proceed', modifications: { content: [{ type: 'text', text: 'go, as a hook has it' }] } };
      });
    case 'on_event':
      return defineHook('on_event', async ({ event }) => {
        const does = await drawn(event.type);
        return does === 'change' ? { action: 'proceed', modifications: { event: { source: 'hook' } } } : GOES_ON;
      });
    case 'after_agent':
      return defineHook('after_agent', async () => {
        const does = await drawn('');
        return does === 'block' ? { action: 'block', reason: 'once more' } : GOES_ON;
      });
  }
}
