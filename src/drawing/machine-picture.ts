import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { type DirectedGraphNode, toDirectedGraph } from 'xstate/graph';
import { type Arrow, type Box, boxId } from './picture.js';

export interface StateDrawing {
  state: Box;
  arrows: Arrow[];
}

/** The machine as boxes and arrows, in the order in which it is written. */
export function drawMachine(machine: AnyStateMachine): StateDrawing {
  const drawing: Drawing = { arrows: [], ids: new Map(), taken: new Set() };
  return { state: stateOf(toDirectedGraph(machine), drawing), arrows: drawing.arrows };
}

interface Drawing {
  readonly arrows: Arrow[];
  /** By the state's own id. */
  readonly ids: Map<string, string>;
  readonly taken: Set<string>;
}

function stateOf(node: DirectedGraphNode, drawing: Drawing): Box {
  const { stateNode } = node;
  const { arrows } = drawing;
  const id = idOf(stateNode, drawing);
  const children = node.children.map((child) => stateOf(child, drawing));
  const label = [
    node.stateNode.key,
    ...stateNode.invoke.map(({ src }) => `runs ${typeof src === 'string' ? src : 'an actor'}`),
  ];
  // The graph leaves out what happens without an event.
  const transitions = [...node.edges.map(({ transition }) => transition), ...(stateNode.always ?? [])];
  const own = transitions.flatMap((transition) =>
    (transition.target ?? [stateNode]).map((target) => ({
      transition,
      target: idOf(target, drawing),
      isInward: target === stateNode || isWithin(target, stateNode),
    })),
  );
  // What may happen in whichever inner state is drawn from a box of its own: a frame with an arrow into itself cannot be.
  const anywhere = `${id}__anywhere`;
  if (children.length > 0 && own.some(({ isInward }) => isInward)) {
    children.push({ id: anywhere, ref: `${refOf(stateNode)}.*`, label: ['in any of these'], isAside: true });
  }
  for (const { transition, target } of own) {
    const fromInside = children.length > 0 && own.some((one) => one.isInward && one.transition === transition);
    const from = fromInside ? anywhere : id;
    const to = fromInside && target === id ? anywhere : target;
    // Of several arrows between the same two boxes Mermaid would draw some only.
    const arrow = arrows.find((one) => one.from === from && one.to === to);
    if (arrow?.label === undefined) arrows.push({ from, to, label: [transitionText(transition)] });
    else arrow.label.push(transitionText(transition));
  }
  const initial = stateNode.type === 'compound' ? stateNode.initial.target[0] : undefined;
  return {
    id,
    ref: refOf(stateNode),
    label,
    ...(children.length === 0 ? {} : { boxes: children }),
    ...(initial === undefined ? {} : { initial: idOf(initial, drawing) }),
    isParallel: stateNode.type === 'parallel',
    isFinal: stateNode.type === 'final',
  };
}

function isWithin(state: AnyStateNode, outer: AnyStateNode): boolean {
  return outer.path.length < state.path.length && outer.path.every((key, index) => state.path[index] === key);
}

/** `session.running`: as the machine calls it. */
const refOf = ({ machine, path }: AnyStateNode): string => [machine.id, ...path].join('.');

/** Two states whose names differ in punctuation only are still two. */
function idOf(state: AnyStateNode, { ids, taken }: Drawing): string {
  const key = JSON.stringify([state.machine.id, ...state.path]);
  const known = ids.get(key);
  if (known !== undefined) return known;
  const wanted = boxId(state.machine.id, ...state.path);
  let id = wanted;
  for (let count = 2; taken.has(id); count++) id = `${wanted}_${count}`;
  taken.add(id);
  ids.set(key, id);
  return id;
}

/** `event [guard] / actions`; what an invoked actor ends with is named after the actor. */
function transitionText({ eventType, guard, actions, source }: AnyTransitionDefinition): string {
  const [, how, what] = /^xstate\.(done|error)\.(?:actor|state)\.(.*)$/.exec(eventType) ?? [];
  const invoked = source.invoke.find(({ id }) => id === what)?.src;
  const ended = typeof invoked === 'string' ? invoked : what;
  const when = eventType === '' ? 'at once' : how === undefined ? eventType : `${how} of ${ended}`;
  const names = actions.map(nameOf).filter((name) => name !== '');
  return [
    when,
    ...(guard === undefined ? [] : [`[${nameOf(guard)}]`]),
    ...(names.length === 0 ? [] : [`/ ${names.join(', ')}`]),
  ].join(' ');
}

/** `keep(failed)`: the name, and parameters where the machine has them in writing. */
function nameOf(reference: unknown): string {
  if (typeof reference === 'string') return reference;
  if (typeof reference === 'function') return reference.name;
  if (typeof reference !== 'object' || reference === null || !('type' in reference)) return '';
  const params = 'params' in reference ? reference.params : undefined;
  const written =
    typeof params === 'object' && params !== null
      ? Object.values(params)
          .filter((value) => typeof value === 'string')
          .join(', ')
      : '';
  return `${String(reference.type)}${written === '' ? '' : `(${written})`}`;
}
