import type { Bag } from '../../contracts/index.js';
import type { Past } from '../recover-idle.js';
import { publish } from '../session-tree.js';
import type { CompiledAgent, Thread } from '../thread.js';
import type { RunOptions } from '../types.js';
import { assertDefinition, changesSince, type DefinitionMark } from './definition-mark.js';

/**
 * Lets a definition go on with a session that was written with it, or with one that it is compatible with; with any
 * other one where the caller has a migration. Returns the state that this made. Rejects with `DEFINITION_CHANGED`.
 */
export async function agreeOnDefinition(
  sessionId: string,
  compiled: CompiledAgent,
  { past, mark, migrate }: { past: Past; mark: DefinitionMark | undefined; migrate: RunOptions['migrate'] },
): Promise<Bag | undefined> {
  if (migrate === undefined) {
    assertDefinition(sessionId, mark, compiled);
    return undefined;
  }
  const changes = mark === undefined ? [] : changesSince(mark, compiled);
  if (changes.length === 0) return undefined;
  const state = await migrate({
    ...(mark?.version !== undefined && { from: mark.version }),
    changes,
    state: structuredClone(past.state),
  });
  if (state === undefined) return undefined;
  replaceState(past, state);
  return state;
}

/** What a session is gone on with is what its migration made of it. */
export function replaceState(past: Past, state: Bag): void {
  for (const key of Object.keys(past.state)) delete past.state[key];
  Object.assign(past.state, state);
}

/** The state is what the migration says, for whoever goes on with the log, too. */
export const publishMigrated = (root: Thread, stateDelta: Bag): void =>
  void publish(root, { type: 'session_update', stateDelta, source: 'host', _meta: { migrated: true } });
