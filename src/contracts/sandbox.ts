export interface SandboxOptions {
  /** Absolute. The one folder that the command may write to, beside temporary files of its own; it starts there. */
  readonly root: string;
}

/** A program and its arguments, as they are spawned. */
export interface SandboxedCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** Keeps a process, and all that it starts, from what it does not need. Who was given one never runs without it. */
export interface Sandbox {
  /** What to spawn instead. It must hand on environment, open files and exit code (128 + n when signal n ended it). */
  wrap(command: string, args: readonly string[], options: SandboxOptions): SandboxedCommand;
  /** Whether it works here and now. Never rejects. */
  available(): Promise<boolean>;
}
