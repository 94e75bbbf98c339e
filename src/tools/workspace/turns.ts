const last = new Map<string, Promise<unknown>>();

/** Runs `task` once those before it with the same key, in this process, have settled. Settles as it does. */
export async function inTurn<T>(key: string, task: () => Promise<T>): Promise<T> {
  const before = last.get(key);
  const run = before === undefined ? task() : before.then(task);
  const settled = run.then(
    () => {},
    () => {},
  );
  last.set(key, settled);
  try {
    return await run;
  } finally {
    if (last.get(key) === settled) last.delete(key);
  }
}
