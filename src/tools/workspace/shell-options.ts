import { isAbsolute } from 'node:path';

/** Bounds of `run_shell_command`. */
export interface ShellOptions {
  /** Of a call that names no `timeout_ms`. Default 120,000. */
  timeoutMs?: number;
  /** What a call may ask for at most. Default 600,000. */
  maxTimeoutMs?: number;
  /** Between SIGTERM and SIGKILL. Default 1,000. */
  graceMs?: number;
  /** Memory of each process (its data; elsewhere than on Linux its address space), where the system can bound it. Default 4,096. */
  maxMemoryMb?: number;
  /** Characters of output that the model is given; the rest is counted. Default 65,536. */
  maxOutputChars?: number;
  /** Variables that a command gets beside those few that are handed on. */
  env?: Readonly<Record<string, string>>;
  /** Absolute path. Default: the first of the usual places that has one. */
  bash?: string;
}

export type ShellBounds = Required<Omit<ShellOptions, 'bash'>> & Pick<ShellOptions, 'bash'>;

const MAX_TIMER_MS = 2 ** 31 - 1;

/** The options with their defaults, or what is wrong with them. */
export function readShellOptions(options: ShellOptions): ShellBounds | string {
  const maxTimeoutMs = options.maxTimeoutMs ?? Math.max(600_000, options.timeoutMs ?? 0);
  const bounds: ShellBounds = {
    timeoutMs: options.timeoutMs ?? Math.min(120_000, maxTimeoutMs),
    maxTimeoutMs,
    graceMs: options.graceMs ?? 1_000,
    maxMemoryMb: options.maxMemoryMb ?? 4_096,
    maxOutputChars: options.maxOutputChars ?? 64 * 1024,
    env: options.env ?? {},
    bash: options.bash,
  };
  for (const key of ['timeoutMs', 'maxTimeoutMs', 'graceMs', 'maxMemoryMb', 'maxOutputChars'] as const) {
    const value = bounds[key];
    const least = key === 'graceMs' ? 0 : 1;
    if (!Number.isInteger(value) || value < least || value > MAX_TIMER_MS) {
      return `shell.${key} is ${JSON.stringify(value) ?? String(value)}; give a whole number from ${least} on`;
    }
  }
  if (bounds.timeoutMs > maxTimeoutMs) return `shell.timeoutMs is more than shell.maxTimeoutMs (${maxTimeoutMs})`;
  if (bounds.bash !== undefined && !isAbsolute(bounds.bash))
    return `shell.bash is "${bounds.bash}"; give an absolute path`;
  return bounds;
}
