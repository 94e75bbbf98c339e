import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { type DirectedGraphNode, toDirectedGraph } from 'xstate/graph';
import { type Arrow, type Box, boxId } from './drawing.js';

/** A state with its inner states, and what leads from one to another; taken from the machine itself. */
export interface StateBox extends Box {
  boxes?: StateBox[];
  /** Id of the inner state that it begins in. */
  initial?: string;
  isParallel: boolean;
  isFinal: boolean;
}

export interface StateDrawing {
  state: StateBox;
  arrows: Arrow[];
}

/** The machine as boxes and arrows, in the order in which it is written. */
export function drawMachine(machine: AnyStateMachine): StateDrawing {
  const arrows: Arrow[] = [];
  return { state: stateOf(toDirectedGraph(machine), arrows), arrows };
}

function stateOf(node: DirectedGraphNode, arrows: Arrow[]): StateBox {
  const { stateNode } = node;
  const id = idOf(stateNode);
  const children = node.children.map((child) => stateOf(child, arrows));
  const label = [
    node.stateNode.key,
    ...stateNode.invoke.map(({ src }) => `runs ${typeof src === 'string' ? src : 'an actor'}`),
  ];
  const inner: StateBox[] = [...children];
  // The graph leaves out what happens without an event.
  const transitions = [...node.edges.map(({ transition }) => transition), ...(stateNode.always ?? [])];
  const own = transitions.flatMap((transition) =>
    (transition.target ?? [stateNode]).map((target) => ({ transition, target: idOf(target) })),
  );
  const inward = own.filter(({ target }) => target === id || target.startsWith(`${id}__`));
  // What may happen in whichever inner state is drawn from a box of its own: a frame with an arrow into itself cannot be.
  const anywhere = `${id}__anywhere`;
  if (children.length > 0 && inward.length > 0)
    inner.push({ id: anywhere, label: ['in any of these'], isParallel: false, isFinal: false });
  for (const { transition, target } of own) {
    const fromInside = children.length > 0 && inward.some((one) => one.transition === transition);
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
    label,
    ...(children.length === 0 ? {} : { boxes: inner }),
    ...(initial === undefined ? {} : { initial: idOf(initial) }),
    isParallel: stateNode.type === 'parallel',
    isFinal: stateNode.type === 'final',
  };
}

function idOf({ machine, path }: AnyStateNode): string {
  return boxId(machine.id, ...path);
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
  const written = typeof params === 'object' && params !== null ? Object.values(params).join(', ') : '';
  return `${String(reference.type)}${written === '' ? '' : `(${written})`}`;
}
