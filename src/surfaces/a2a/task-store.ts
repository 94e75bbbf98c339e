import type { Artifact, ListTasksResponse, Part, Task, TaskState, TaskStatus } from '@a2a-js/sdk';
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server';

const MOST_TASKS = 1_000;
/** Messages of one task that are kept, the latest. */
const MOST_MESSAGES = 200;

/**
 * Tasks by whom they belong to: nobody sees another's, and where callers have no names nobody gets a list. Those that are
 * over are forgotten beyond 1,000 per caller, the oldest first. What is over stays as it ended.
 */
export class OwnTasks implements TaskStore {
  readonly #byUser = new Map<string, Map<string, Task>>();

  /** `unsupported` makes the error that a caller is answered with. */
  constructor(
    private readonly terminal: ReadonlySet<TaskState>,
    private readonly unsupported: (message: string) => Error,
  ) {}

  /** Written by whoever reads the events of a task for its caller. */
  async save(task: Task, context: ServerCallContext): Promise<void> {
    this.#put(nameOf(context), task);
  }

  async load(taskId: string, context: ServerCallContext): Promise<Task | undefined> {
    return this.get(nameOf(context), taskId);
  }

  /** A copy whose lists may be written to. */
  get(user: string, taskId: string): Task | undefined {
    const task = this.#byUser.get(user)?.get(taskId);
    return task && copyOf(task);
  }

  /** What becomes of a task while nobody reads its events. */
  moved(user: string, taskId: string, status: TaskStatus): void {
    const task = this.get(user, taskId);
    if (task === undefined) return;
    if (status.message !== undefined) task.history.push(status.message);
    this.#put(user, { ...task, status });
  }

  produced(user: string, taskId: string, artifact: Artifact, append: boolean): void {
    const task = this.get(user, taskId);
    if (task === undefined) return;
    const at = task.artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
    const known = task.artifacts[at];
    if (known === undefined) task.artifacts.push(artifact);
    else task.artifacts[at] = append ? { ...known, parts: [...known.parts, ...artifact.parts] } : artifact;
    this.#put(user, task);
  }

  async list(
    { contextId, status }: Parameters<TaskStore['list']>[0],
    context: ServerCallContext,
  ): Promise<ListTasksResponse> {
    const user = nameOf(context);
    if (user === '') throw this.unsupported('tasks are listed only for callers with a token');
    const tasks = [...(this.#byUser.get(user)?.values() ?? [])]
      .filter(
        (task) => (contextId === '' || task.contextId === contextId) && (status === 0 || task.status?.state === status),
      )
      .map(copyOf);
    return { tasks, nextPageToken: '', pageSize: tasks.length, totalSize: tasks.length };
  }

  #put(user: string, task: Task): void {
    const tasks = this.#byUser.get(user) ?? new Map<string, Task>();
    this.#byUser.set(user, tasks);
    const before = tasks.get(task.id);
    if (before !== undefined && this.#isOver(before) && before.status?.state !== task.status?.state) return;
    tasks.set(task.id, copyOf(task));
    if (tasks.size <= MOST_TASKS) return;
    for (const [id, one] of tasks) {
      if (!this.#isOver(one)) continue;
      tasks.delete(id);
      return;
    }
  }

  #isOver({ status }: Task): boolean {
    return status !== undefined && this.terminal.has(status.state);
  }
}

const copyOf = (task: Task): Task => ({
  ...task,
  artifacts: (task.artifacts ?? []).map((artifact) => ({ ...artifact, parts: joined(artifact.parts) })),
  history: (task.history ?? []).slice(-MOST_MESSAGES),
});

/** A text that goes on is one part, however many pieces it came in. */
function joined(parts: readonly Part[]): Part[] {
  const whole: Part[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    if (part.content?.$case === 'text' && last?.content?.$case === 'text')
      whole[whole.length - 1] = { ...last, content: { $case: 'text', value: last.content.value + part.content.value } };
    else whole.push(part);
  }
  return whole;
}

export const nameOf = ({ user }: ServerCallContext): string => (user?.isAuthenticated ? user.userName : '');
