import type { HookDefinition, HookPoint } from '../contracts/index.js';

/** One hook, with the payload and the modifications of its point typed. A `before_tool` hook that throws blocks. */
export const defineHook = <P extends HookPoint>(point: P, run: HookDefinition<P>['run']): HookDefinition<P> => ({
  point,
  run,
});
