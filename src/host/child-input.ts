import { TroupeError } from '../kernel/errors.js';
import { jsonFault } from '../kernel/json-value.js';
import type { ChildOutcome, CrewState } from './crew-state.js';
import { graphInput } from './graph-input.js';
import { dataInput, ownInput, sameInput, textOrData } from './own-input.js';
import { resultsOf } from './results.js';
import { type RunInput, toRunInput } from './run-start.js';
import type { CompiledAgent, Thread } from './thread.js';

export interface ChildInput extends RunInput {
  /** The author's own word. */
  readonly isMapped?: boolean;
}

/**
 * What a child is given: what `mapInput` makes of it, else what its parent was given; in an order of children what the
 * one before came to; for a leader's call its arguments. Throws, or rejects, with `MAP_INPUT_FAILED` or what `mapInput` throws.
 */
export function childInput(
  thread: Thread,
  crew: CrewState,
  child: CompiledAgent,
  args: { readonly value: unknown; readonly requestId: string } | undefined,
  from?: readonly number[],
): ChildInput | Promise<ChildInput> {
  const mapInput = thread.agent.definition.behaviour?.mapInput;
  const give = (given: unknown) => {
    if (crew.graph !== undefined) crew.graph.given[thread.agent.children.indexOf(child)] = given;
  };
  const standard = () => {
    if (args !== undefined) return toRunInput(child, args.value);
    if (from === undefined) return passedOn(thread, crew, child);
    const { given, input } = graphInput(thread, crew, child, from);
    give(given);
    return input;
  };
  if (mapInput === undefined) return standard();
  const { name } = child.definition;
  const requestId = args?.requestId;
  const decidedBefore = thread.past?.takeMapped(name, requestId);
  if (decidedBefore !== undefined) {
    const { input } = decidedBefore;
    if (input !== undefined) give(input);
    return input === undefined ? standard() : { ...toRunInput(child, input), isMapped: true };
  }
  const context = {
    input: args === undefined ? ownInput(thread) : textOrData(child, args.value),
    // Read by few, and as long as there are children.
    get results() {
      return resultsOf(thread);
    },
    state: thread.state.values(),
  };
  const given = mapInput(name as never, context as never) as unknown;
  const take = (value: unknown): ChildInput => {
    const fault = value === undefined ? undefined : jsonFault(value);
    if (fault !== undefined) {
      throw new TroupeError({ code: 'MAP_INPUT_FAILED', message: `what mapInput returned${fault}; an input is JSON` });
    }
    const decided: Record<string, unknown> = { child: name };
    if (value !== undefined) decided.input = value;
    if (requestId !== undefined) decided.requestId = requestId;
    recordDecision(thread, 'mapInput', decided);
    if (value !== undefined) give(value);
    return value === undefined ? standard() : { ...toRunInput(child, value), isMapped: true };
  };
  return isThenable(given) ? Promise.resolve(given).then(take) : take(given);
}

export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';

/** What user code decided is kept, so that a later reading of the log need not ask again. */
export function recordDecision(thread: Thread, decision: string, data: Record<string, unknown>): void {
  thread.tree.merge.record(thread, { type: 'custom', kind: 'decision', data: { decision, ...data }, source: 'host' });
}

function passedOn(thread: Thread, { last, outcomes }: CrewState, child: CompiledAgent): RunInput {
  const { pattern } = thread.agent.descriptor.composition ?? {};
  const isInOrder = pattern === 'sequential' || pattern === 'loop';
  if (!isInOrder || last === undefined) return sameInput(thread, child);
  const { message, reason } = last.end.data;
  if (!last.ok) return toRunInput(child, `${last.name} failed: ${message ?? reason ?? last.end.reason}`);
  const said = hasSaid(last) ? last : saidBefore(outcomes, last.index);
  if (said === undefined) return sameInput(thread, child);
  const { result } = said.end.data;
  return typeof result === 'string' ? toRunInput(child, result) : dataInput(child, result);
}

const hasSaid = (one: ChildOutcome | undefined): boolean => one?.ok === true && one.end.data.result !== undefined;

/** What was said last before a child that said nothing: by those in front of it, else in the round before. */
const saidBefore = (outcomes: CrewState['outcomes'], index: number): ChildOutcome | undefined =>
  outcomes.slice(0, index).findLast(hasSaid) ?? outcomes.findLast(hasSaid);
