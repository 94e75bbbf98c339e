import type { MachineStep, ToldSteps } from '../wire.js';

const PER_THREAD = 400;
const MOST = 40_000;

interface Heard {
  readonly steps: MachineStep[];
  /** Some of the oldest were let go. */
  isCut: boolean;
}

/** Positions behind `from` and up to `to`, in which every step was heard. */
interface Stretch {
  readonly from: number;
  to: number;
}

const NOTHING: ToldSteps = { steps: [], left: 0 };

/**
 * The newest steps of the machines of each thread, in their order: those that were heard as they were taken, and before
 * and between them those that the log tells of.
 */
export class StepHistory {
  readonly #heard = new Map<string, Heard>();
  readonly #told = new Map<string, ToldSteps>();
  readonly #stretches: Stretch[] = [];
  #merged: { readonly threadId: string; readonly version: number; readonly steps: readonly MachineStep[] } | undefined;
  #version = 0;
  #count = 0;
  #perThread = PER_THREAD;

  /** How often it was begun to listen: what the log told before that is to be asked anew. */
  get stretches(): number {
    return this.#stretches.length;
  }

  /** From behind this position on all steps are heard. */
  hearsFrom(seq: number): void {
    this.hearsNoMore(seq);
    this.#stretches.push({ from: seq, to: Number.POSITIVE_INFINITY });
    this.#version++;
  }

  hearsNoMore(seq: number): void {
    const last = this.#stretches.at(-1);
    if (last?.to === Number.POSITIVE_INFINITY) last.to = Math.max(seq, last.from);
    this.#version++;
  }

  add(step: MachineStep): void {
    let heard = this.#heard.get(step.threadId);
    if (heard === undefined) {
      heard = { steps: [], isCut: false };
      this.#heard.set(step.threadId, heard);
    }
    heard.steps.push(step);
    this.#count++;
    this.#version++;
    if (heard.steps.length > this.#perThread * 1.5) this.#cut(heard);
    if (this.#count <= MOST) return;
    this.#perThread = Math.max(20, this.#perThread / 2);
    for (const one of this.#heard.values()) if (one.steps.length > this.#perThread) this.#cut(one);
  }

  /** What the log tells of a thread. */
  tell(threadId: string, told: ToldSteps): void {
    this.#told.set(threadId, told);
    this.#version++;
  }

  of(threadId: string): readonly MachineStep[] {
    if (this.#merged?.threadId === threadId && this.#merged.version === this.#version) return this.#merged.steps;
    const steps = this.#merge(threadId);
    this.#merged = { threadId, version: this.#version, steps };
    return steps;
  }

  /** Steps that came before all that `of` gives. */
  leftOf(threadId: string): number {
    return this.#told.get(threadId)?.left ?? 0;
  }

  #merge(threadId: string): readonly MachineStep[] {
    const { steps: heard, isCut } = this.#heard.get(threadId) ?? { steps: [], isCut: false };
    const { steps: told } = this.#told.get(threadId) ?? NOTHING;
    if (told.length === 0) return heard;
    const since = isCut ? (heard[0]?.seq ?? 0) : 0;
    const isHeard = ({ seq }: MachineStep) =>
      seq >= since && this.#stretches.some(({ from, to }) => seq > from && seq <= to);
    const merged = [...told.filter((step) => !isHeard(step)), ...heard].sort((a, b) => a.seq - b.seq);
    // On the border a step may have been heard and told.
    const live = new Set(heard);
    return merged.filter((step, at) => {
      const before = merged[at - 1];
      return before === undefined || live.has(before) === live.has(step) || !isSame(before, step);
    });
  }

  #cut(heard: Heard): void {
    const gone = heard.steps.length - this.#perThread;
    heard.steps.splice(0, gone);
    heard.isCut = true;
    this.#count -= gone;
  }
}

const isSame = (one: MachineStep, other: MachineStep): boolean =>
  one.event === other.event &&
  one.machine === other.machine &&
  Math.abs(one.seq - other.seq) <= 1 &&
  JSON.stringify(one.value) === JSON.stringify(other.value);

/** The state of a session's machine as its events tell it, where nobody listened to the machine itself. */
export function stateFromStatus(status: string): string {
  switch (status) {
    case 'awaiting_tool':
      return 'awaitingTool';
    case 'awaiting_elicitation':
      return 'awaitingElicitation';
    case 'ended':
      return 'ended';
    default:
      return 'running';
  }
}
