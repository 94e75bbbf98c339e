import { type KeyboardEvent, type ReactNode, useEffect, useState } from 'react';
import { litStates, type StateValue } from '../../drawing/lit-states.js';
import type { RunModel } from '../../kernel/run-model.js';
import type { MachineStep } from '../wire.js';
import { oneLine } from './clipped.js';
import { DrawingView } from './drawing-view.js';
import { clockText } from './figures.js';
import { type ArrowEnds, isStateValue, lastTransition } from './last-transition.js';
import type { SessionFeed } from './session-feed.js';
import { stateFromStatus } from './step-history.js';
import { VirtualList } from './virtual-list.js';

export interface StatechartViewProps {
  readonly feed: SessionFeed;
  readonly model: RunModel;
  readonly threadId: string;
  /** A moment of the past. */
  readonly seq: number | undefined;
}

/** The machine that carries a thread, its active states lit, its steps to go through. */
export function StatechartView({ feed, model, threadId, seq }: StatechartViewProps): ReactNode {
  const [wanted, setWanted] = useState<string>();
  const [picked, setPicked] = useState<number>();
  const { plan, steps: history } = feed;
  useEffect(() => feed.hearSteps(), [feed]);
  // What was missed while nothing was heard is told by the log.
  // biome-ignore lint/correctness/useExhaustiveDependencies: anew for another history, and each time it is listened again
  useEffect(() => void feed.tellSteps(threadId), [feed, threadId, history, history.stretches]);
  const thread = model.threads[threadId];
  if (plan === undefined) return <p className="empty">The machines of this session are being drawn…</p>;
  if (thread === undefined || Object.keys(plan.machines).length === 0)
    return (
      <p className="empty">
        This host does not know the agent of this session, so there is nothing to draw: give <code>createHost</code> its{' '}
        <code>agents</code>.
      </p>
    );
  const own = Object.hasOwn(plan.machineOf, thread.agentName) ? plan.machineOf[thread.agentName] : undefined;
  const names = [...new Set([own ?? 'session', 'session', ...stepsMachines(feed, threadId)])].filter((name) =>
    Object.hasOwn(plan.machines, name),
  );
  const machine = wanted !== undefined && names.includes(wanted) ? wanted : names[0];
  if (machine === undefined) return <p className="empty">There is no picture of this machine.</p>;
  const steps = history
    .of(threadId)
    .filter((step) => step.machine === machine && (seq === undefined || step.seq <= seq));
  const left = history.leftOf(threadId);
  const at = Math.min(picked ?? steps.length - 1, steps.length - 1);
  const step = steps[at];
  const value = stateOf(step) ?? (machine === 'session' ? stateFromStatus(thread.status) : undefined);
  const before = stateOf(steps[at - 1]);
  const update = (svg: SVGSVGElement) => light(svg, machine, value, before);
  const pressed = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (by === 0 || steps.length === 0) return;
    event.preventDefault();
    pick(at + by);
  };
  const pick = (index: number) => setPicked(index >= steps.length - 1 ? undefined : Math.max(0, index));
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys are a short way to the buttons within
    <div className="statechart" onKeyDown={pressed}>
      <div className="view-tools">
        <label>
          Machine{' '}
          <select
            value={machine}
            onChange={(event) => {
              setWanted(event.target.value);
              setPicked(undefined);
            }}
          >
            {names.map((name) => (
              <option key={name} value={name}>
                {oneLine(name, 60)}
              </option>
            ))}
          </select>
        </label>
        <button type="button" aria-label="One step back" disabled={at <= 0} onClick={() => pick(at - 1)}>
          ◂
        </button>
        <button type="button" aria-label="One step on" disabled={at >= steps.length - 1} onClick={() => pick(at + 1)}>
          ▸
        </button>
        <span className="quiet" role="status">
          {step === undefined
            ? value === undefined
              ? 'This machine has not begun.'
              : `${oneLine(String(value), 60)}, as its events tell`
            : `${at + 1} of ${steps.length}${left > 0 ? ` (${left} older ones left out)` : ''} · ${oneLine(step.event, 60)} → ${oneLine(valueText(step.value), 80)}`}
        </span>
      </div>
      <div className="statechart-body">
        <DrawingView
          source={plan.machines[machine] ?? ''}
          label={`State machine ${machine}${value === undefined ? '' : `, in ${valueText(value)}`}`}
          update={update}
        />
        {steps.length > 0 && (
          <div className="steps">
            <VirtualList
              key={`${threadId} ${machine}`}
              label="Steps of the machine"
              count={steps.length}
              estimate={28}
              follows={picked === undefined}
              keyOf={String}
              row={(index) => (
                <button
                  type="button"
                  className={`step${index === at ? ' is-selected' : ''}`}
                  aria-current={index === at ? 'step' : undefined}
                  onClick={() => pick(index)}
                >
                  <span>{oneLine(valueText(steps[index]?.value), 60)}</span>
                  <span className="quiet">
                    {oneLine(steps[index]?.event ?? '', 60)} · {clockText(steps[index]?.at ?? '')}
                  </span>
                </button>
              )}
            />
          </div>
        )}
      </div>
    </div>
  );
}

function stepsMachines(feed: SessionFeed, threadId: string): string[] {
  return [...new Set(feed.steps.of(threadId).map(({ machine }) => machine))];
}

function stateOf(step: MachineStep | undefined): StateValue | undefined {
  return isStateValue(step?.value) ? step.value : undefined;
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '').replace(/["{}]/g, '').replaceAll(':', '.');
}

/** Classes only: nothing is laid out again. */
function light(
  svg: SVGSVGElement,
  machine: string,
  value: StateValue | undefined,
  before: StateValue | undefined,
): void {
  const states = value === undefined ? [] : litStates(machine, value);
  const lit = new Set(states);
  const innermost = states.at(-1);
  const isNews = innermost !== undefined && svg.querySelector(`[data-ref="${CSS.escape(innermost)}"].lit`) === null;
  for (const box of svg.querySelectorAll('[data-ref]'))
    box.classList.toggle('lit', lit.has(box.getAttribute('data-ref') ?? ''));
  const arrows = [...svg.querySelectorAll('[data-from]')].map((element) => ({
    element,
    from: element.getAttribute('data-from') ?? '',
    to: element.getAttribute('data-to') ?? '',
  }));
  const last: readonly ArrowEnds[] =
    value === undefined || before === undefined ? [] : lastTransition(machine, before, value, arrows);
  for (const arrow of arrows) arrow.element.classList.toggle('lit', last.includes(arrow));
  if (isNews) bringIntoSight(svg, svg.querySelector(`[data-ref="${CSS.escape(innermost)}"]`));
}

/** Within the frame of the picture alone: what else somebody reads on the page stays where it is. */
function bringIntoSight(svg: SVGSVGElement, box: Element | null): void {
  const frame = svg.parentElement;
  if (frame === null || box === null) return;
  const [outer, inner] = [frame.getBoundingClientRect(), box.getBoundingClientRect()];
  frame.scrollTop += inner.top + inner.height / 2 - (outer.top + outer.height / 2);
  if (inner.left < outer.left) frame.scrollLeft += inner.left - outer.left;
  else if (inner.right > outer.right) frame.scrollLeft += inner.right - outer.right;
}
