import type { Bag, HookDefinition, HookPayloadBase, HookResult, LifecycleInterceptor } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';

/** Points at which a hook that fails blocks: a guard that cannot be understood has not agreed. */
const GUARDS: ReadonlySet<string> = new Set(['before_tool', 'before_model']);

/** Hooks in configuration order; each sees what the one before made of the payload, and any block blocks. */
export function createHookChain(
  sources: readonly (HookDefinition | LifecycleInterceptor)[],
): LifecycleInterceptor | undefined {
  if (sources.length === 0) return undefined;
  const points = new Set(
    sources.flatMap((source) => ('point' in source ? [source.point as string] : [...source.supportedHookPoints()])),
  );
  return {
    supportedHookPoints: () => [...points],
    async fire(point, payload) {
      let current = payload;
      let merged: Bag = {};
      if (!points.has(point)) return { action: 'proceed' };
      for (const source of sources) {
        const result = await callHook(source, point, current);
        if (result === undefined) continue;
        if (result.action !== 'proceed') return { ...result, action: 'block' };
        if (result.modifications !== undefined) {
          merged = { ...merged, ...result.modifications };
          current = { ...current, ...result.modifications };
        }
      }
      return Object.keys(merged).length > 0 ? { action: 'proceed', modifications: merged } : { action: 'proceed' };
    },
  };
}

async function callHook(
  source: HookDefinition | LifecycleInterceptor,
  point: string,
  payload: HookPayloadBase & Bag,
): Promise<HookResult | undefined> {
  try {
    if (!('point' in source)) return await source.fire(point, payload);
    if (source.point !== point) return undefined;
    return ((await source.run(payload as never)) ?? undefined) as HookResult | undefined;
  } catch (thrown) {
    const { message } = describeError(thrown);
    return GUARDS.has(point) ? { action: 'block', reason: `the hook failed: ${message}` } : undefined;
  }
}
