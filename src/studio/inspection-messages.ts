import type { ActorRefLike, AnyActorRef, InspectionEvent } from 'xstate';
import type { InspectionMessage } from './wire.js';

/** The version of `@statelyai/inspect` whose messages these are. */
const VERSION = '0.7.2';
const MOST_DEPTH = 12;
const MOST_ENTRIES = 200;
const MOST_CHARACTERS = 20_000;

type Actor = ActorRefLike & Partial<Pick<AnyActorRef, 'id' | '_parent'>> & { readonly logic?: unknown };

let count = 0;

/** An actor that is there already, as if it had just been made. */
export const messageOfActor = (actor: AnyActorRef): InspectionMessage =>
  toInspectionMessage({ type: '@xstate.actor', actorRef: actor, rootId: rootOf(actor).sessionId });

/**
 * An inspection event as Stately's inspector takes it: actors by their ids, definitions as JSON, and nothing in it that
 * is not JSON. Events that the inspector does not know (microsteps, actions) are given in the same form.
 */
export function toInspectionMessage(event: InspectionEvent): InspectionMessage {
  const actor = event.actorRef as Actor;
  const base = {
    type: event.type,
    sessionId: actor.sessionId,
    rootId: event.rootId,
    createdAt: String(Date.now()),
    id: `${actor.sessionId}-${++count}`,
    _version: VERSION,
  };
  switch (event.type) {
    case '@xstate.actor':
      return {
        ...base,
        name: nameOf(actor),
        parentId: actor._parent?.sessionId,
        definition: definitionOf(actor),
        snapshot: toJson(actor.getSnapshot()),
      };
    case '@xstate.event':
      return { ...base, event: toJson(event.event), sourceId: event.sourceRef?.sessionId };
    case '@xstate.action':
      return { ...base, action: toJson(event.action) };
    case '@xstate.microstep':
      return {
        ...base,
        event: toJson(event.event),
        snapshot: toJson(event.snapshot),
        transitions: event._transitions.map(({ source, target, eventType }) => ({
          eventType,
          source: source.id,
          target: target?.map(({ id }) => id) ?? [],
        })),
      };
    default:
      return { ...base, event: toJson(event.event), snapshot: toJson(event.snapshot) };
  }
}

/** The session's part of a host: the actor below the root that it hangs on; undefined: it is the root. */
export function sessionOf(actor: ActorRefLike): string | undefined {
  let at = actor as Actor;
  let below: string | undefined;
  for (; at._parent !== undefined; at = at._parent as Actor) below = at.id;
  return below;
}

function rootOf(actor: AnyActorRef): AnyActorRef {
  let at = actor;
  while (at._parent !== undefined) at = at._parent;
  return at;
}

function nameOf(actor: Actor): string {
  const { id } = (configOf(actor) ?? {}) as { id?: unknown };
  return typeof id === 'string' && actor.id === actor.sessionId ? id : (actor.id ?? actor.sessionId);
}

/** Of its machine; a graph begins with the machine that its snapshot has. */
function configOf(actor: Actor): object | undefined {
  const { machine } = actor.getSnapshot() as { machine?: { config?: object } };
  return (actor.logic as { config?: object } | undefined)?.config ?? machine?.config;
}

const definitions = new WeakMap<object, string>();

/** Machines are made once per host: so is their text. */
function definitionOf(actor: Actor): string {
  const config = configOf(actor);
  if (config === undefined) return JSON.stringify({ id: nameOf(actor) });
  let text = definitions.get(config);
  if (text === undefined) {
    text = JSON.stringify(toJson(config));
    definitions.set(config, text);
  }
  return text;
}

/**
 * What JSON can hold of a value: deep, wide and long ones are cut, functions named, and what is no plain object (a pool,
 * what an effect works with) is left empty.
 */
export function toJson(value: unknown, depth = 0): unknown {
  switch (typeof value) {
    case 'string':
      return value.length > MOST_CHARACTERS ? `${value.slice(0, MOST_CHARACTERS)}…` : value;
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
    case 'undefined':
      return value;
    case 'function':
      return { type: value.name };
    case 'object':
      return value === null ? null : depth >= MOST_DEPTH ? '…' : objectToJson(value, depth);
    default:
      return String(value);
  }
}

function objectToJson(value: object, depth: number): unknown {
  if (Array.isArray(value)) return value.slice(0, MOST_ENTRIES).map((one) => toJson(one, depth + 1) ?? null);
  try {
    const { toJSON } = value as { toJSON?: () => unknown };
    if (typeof toJSON === 'function') {
      const plain = toJSON.call(value);
      // A snapshot gives itself without what it is made of; anything else that gives itself is not gone on with.
      if (plain !== value) return toJson(plain, depth + 1);
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (value instanceof Error) return { name: value.name, message: toJson(value.message) };
    if (prototype !== null && prototype !== Object.prototype) return {};
    const plain: Record<string, unknown> = Object.create(null);
    for (const [key, inner] of Object.entries(value).slice(0, MOST_ENTRIES)) plain[key] = toJson(inner, depth + 1);
    return plain;
  } catch {
    return '…';
  }
}
