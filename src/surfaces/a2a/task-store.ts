import type { ListTasksResponse, Task } from '@a2a-js/sdk';
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server';
import { TroupeError } from '../../kernel/errors.js';

const MOST_TASKS = 1_000;

/**
 * Tasks by whom they belong to: nobody sees another's, and where callers have no names nobody gets a list. The oldest
 * are forgotten beyond 1,000 per caller.
 */
export class OwnTasks implements TaskStore {
  readonly #byUser = new Map<string, Map<string, Task>>();

  async save(task: Task, context: ServerCallContext): Promise<void> {
    const user = nameOf(context);
    const tasks = this.#byUser.get(user) ?? new Map<string, Task>();
    this.#byUser.set(user, tasks);
    tasks.delete(task.id);
    tasks.set(task.id, structuredClone(task));
    const [oldest] = tasks.keys();
    if (tasks.size > MOST_TASKS && oldest !== undefined) tasks.delete(oldest);
  }

  async load(taskId: string, context: ServerCallContext): Promise<Task | undefined> {
    const task = this.#byUser.get(nameOf(context))?.get(taskId);
    return task === undefined ? undefined : structuredClone(task);
  }

  async list(
    { contextId, status }: Parameters<TaskStore['list']>[0],
    context: ServerCallContext,
  ): Promise<ListTasksResponse> {
    const user = nameOf(context);
    if (user === '')
      throw new TroupeError({ code: 'INVALID_OPTION', message: 'tasks are listed only for callers with a token' });
    const tasks = [...(this.#byUser.get(user)?.values() ?? [])].filter(
      (task) => (contextId === '' || task.contextId === contextId) && (status === 0 || task.status?.state === status),
    );
    return { tasks: structuredClone(tasks), nextPageToken: '', pageSize: tasks.length, totalSize: tasks.length };
  }
}

export const nameOf = ({ user }: ServerCallContext): string => (user?.isAuthenticated ? user.userName : '');
