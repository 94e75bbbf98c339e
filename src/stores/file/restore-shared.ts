import type { Bag, SessionMetadata } from '../../contracts/index.js';
import { summaries } from './list.js';
import { sharedPart } from './shared-state.js';
import type { StoreParts } from './store-parts.js';

/**
 * Puts what the sessions of an application share together again from what each of them says, where the file of the
 * application is missing, or that of a user of whom `state` has keys. An application always has one from its first
 * session on.
 */
export async function restoreShared(
  parts: StoreParts,
  root: string,
  owner: SessionMetadata,
  state: Bag,
): Promise<void> {
  const { shared } = parts;
  const hasUserKeys = Object.keys(state).some((key) => key.startsWith('user:'));
  const isLost = (await shared.isMissing('app', owner)) || (hasUserKeys && (await shared.isMissing('user', owner)));
  if (!isLost) return;
  for (const { metadata, state: said } of await summaries(parts, root)) {
    if (metadata.appName !== owner.appName) continue;
    const changes = sharedPart(new Map(Object.entries(said)));
    if (changes.size > 0) await shared.write(metadata, changes, true);
  }
  await shared.begin(owner);
}
