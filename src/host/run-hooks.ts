import type { Bag, ContentPart, HookResult } from '../contracts/index.js';
import { askHooks, tellHooks } from './fire-hook.js';
import { hooksOf } from './hook-state.js';
import type { RunRecord, Thread } from './thread.js';

/** Resolves with what is waited for, or with nothing as soon as the run is told to stop waiting. */
export function unlessCut<T>(run: RunRecord, waited: Promise<T>): Promise<T | undefined> {
  const hooks = hooksOf(run);
  const before = hooks.cutWait;
  return new Promise((resolve) => {
    const settle = (value: T | undefined) => {
      if (hooks.cutWait === cut) hooks.cutWait = before;
      resolve(value);
    };
    const cut = () => settle(undefined);
    hooks.cutWait = cut;
    void waited.then(settle);
  });
}

/** Asks the hooks of a point about a run that is not being stopped. Nothing: none listens, or the run has been stopped. */
export async function askAbout(
  thread: Thread,
  run: RunRecord,
  point: string,
  payload: Bag,
  tell: (thread: Thread, point: string, result: HookResult) => HookResult = tellHooks,
): Promise<HookResult | undefined> {
  if (run.stop !== undefined || thread.run !== run) return undefined;
  const fired = askHooks(thread, point, payload);
  const result = fired && (await unlessCut(run, fired));
  return result === undefined || thread.run !== run ? undefined : tell(thread, point, result);
}

/** Where something about a thread can still be said: nothing stands behind the end of a run. */
export function livingAt(thread: Thread): Thread | undefined {
  if (thread.tree.isClosed) return undefined;
  const { root } = thread.tree;
  const at = isOver(thread) ? root : thread;
  // Between two runs of a session that stands there is room before the next.
  return at === root && isOver(root) && root.endsSession ? undefined : at;
}

const isOver = ({ run, end }: Thread): boolean =>
  run === undefined ? end !== undefined : run.hooks?.phase === 'ended';

/** A copy that a hook may do with as it likes. */
export const copyOf = <T>(value: T): T => (value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T));

export const promptOf = (run: RunRecord): ContentPart[] => run.hooks?.prompt ?? [{ type: 'text', text: run.inputText }];
