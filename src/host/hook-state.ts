import type { RunHooks, RunRecord, Thread, TreeHooks } from './thread.js';

/** What hooks make of a run, from its beginning on. */
export function hooksOf(run: RunRecord): RunHooks {
  run.hooks ??= {
    cutWait: undefined,
    wasSentBack: false,
    phase: 'open',
    isUnasked: false,
    isAnswered: false,
    prompt: undefined,
    context: undefined,
    selected: undefined,
  };
  return run.hooks;
}

/** The same for a session. */
export function treeHooksOf({ tree }: Thread): TreeHooks {
  tree.hooks ??= {
    source: tree.isResumed ? 'resume' : 'startup',
    hasBegun: false,
    context: undefined,
    telling: undefined,
  };
  return tree.hooks;
}
