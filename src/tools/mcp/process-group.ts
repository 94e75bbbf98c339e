/** Leaders of groups that are alive: should our own process end without closing them, they go with it. */
const alive = new Set<number>();

function killAll(): void {
  for (const leader of alive) signalGroup(leader, 'SIGKILL');
}

/** Sends a signal to a process and all of its group. False: nobody of it is left. */
export function signalGroup(leader: number, signal: NodeJS.Signals): boolean {
  try {
    // Windows has no groups that could be signalled.
    process.kill(process.platform === 'win32' ? leader : -leader, signal);
    return true;
  } catch (thrown) {
    // What we may not signal is not ours any more either.
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Remembers a group until it is forgotten. */
export function guardGroup(leader: number): void {
  if (alive.size === 0) process.on('exit', killAll);
  alive.add(leader);
}

export function forgetGroup(leader: number): void {
  alive.delete(leader);
  if (alive.size === 0) process.off('exit', killAll);
}
