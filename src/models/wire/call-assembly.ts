import type { ModelToolCall } from '../../contracts/index.js';

/** A piece of a call, as a provider streams it. Any field may be missing. */
export interface CallPiece {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: string | Record<string, unknown> | null } | null;
}

export interface CallAssembly {
  add(piece: CallPiece): void;
  readonly isEmpty: boolean;
  /**
   * The calls in order of appearance; pieces without a name are dropped. Arguments that are blank are `{}`; broken
   * ones stand in `brokenArgs`, and in `args` as the text that came. `isCut`: the answer hit its limit, so a last call without arguments is incomplete.
   */
  finish(options: { isCut: boolean }): ModelToolCall[];
}

interface Draft {
  index: number | undefined;
  id: string | undefined;
  name: string | undefined;
  args: string;
  /** Arguments that came as JSON rather than as text. */
  object: Record<string, unknown> | undefined;
}

/** Puts calls together from pieces that name their call by index, by id, by both, or by nothing but their order. */
export function createCallAssembly(): CallAssembly {
  const drafts: Draft[] = [];

  function draftOf(piece: CallPiece, name: string | undefined, args: string): Draft {
    const index = piece.index ?? undefined;
    const id = piece.id || undefined;
    const found = find(index, id, name);
    if (found !== undefined && !startsAnother(found, index, id, name, args)) return found;
    const draft: Draft = { index, id, name: undefined, args: '', object: undefined };
    drafts.push(draft);
    return draft;
  }

  function find(index: number | undefined, id: string | undefined, name: string | undefined): Draft | undefined {
    const latest = (fits: (draft: Draft) => boolean) => drafts.findLast(fits);
    if (index !== undefined) {
      const byBoth = id === undefined ? undefined : latest((draft) => draft.index === index && draft.id === id);
      const byIndex = byBoth ?? latest((draft) => draft.index === index);
      return (
        byIndex ?? (id === undefined ? undefined : latest((draft) => draft.index === undefined && draft.id === id))
      );
    }
    if (id !== undefined) return latest((draft) => draft.id === id);
    const last = drafts.at(-1);
    // Another name without an id is another call.
    return name !== undefined && last?.name !== undefined && last.name !== name ? undefined : last;
  }

  return {
    add(piece) {
      const name = piece.function?.name || undefined;
      const given = piece.function?.arguments;
      const args = typeof given === 'string' ? given : '';
      const draft = draftOf(piece, name, args);
      draft.id ??= piece.id || undefined;
      draft.index ??= piece.index ?? undefined;
      draft.name ??= name;
      draft.args += args;
      if (typeof given === 'object' && given !== null) draft.object = given;
    },
    get isEmpty() {
      return drafts.length === 0;
    },
    finish({ isCut }) {
      const named = drafts.filter((draft) => draft.name !== undefined);
      const last = named.at(-1);
      if (isCut && last !== undefined && last.object === undefined && last.args.trim() === '') named.pop();
      return named.map(toCall);
    },
  };
}

/**
 * Some providers give every call the same index, or the same id. A piece that names a tool begins another call when
 * the one before is whole, or when both have ids and the ids differ.
 */
function startsAnother(
  draft: Draft,
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  args: string,
): boolean {
  if (name === undefined || draft.name === undefined) return false;
  if (id !== undefined && draft.id !== undefined && id !== draft.id) return true;
  if (index === undefined && id === undefined && name !== draft.name) return true;
  return args.trim() !== '' && (draft.object !== undefined || isWhole(draft.args));
}

function isWhole(args: string): boolean {
  if (!args.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(args);
    return true;
  } catch {
    return false;
  }
}

function toCall({ id, name = '', args, object }: Draft): ModelToolCall {
  const call: ModelToolCall = { name, args: object ?? {} };
  if (id !== undefined) call.id = id;
  if (object !== undefined || args.trim() === '') return call;
  try {
    // Some providers say null for a tool that takes nothing.
    call.args = JSON.parse(args) ?? {};
  } catch {
    call.args = args;
    call.brokenArgs = args;
  }
  return call;
}
