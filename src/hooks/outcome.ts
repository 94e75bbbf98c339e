import type { AgentEvent, Bag, HookPayloadBase, HookResult } from '../contracts/index.js';
import { changedEvent } from '../kernel/hook-points.js';
import { isRecord } from './forms.js';

type Payload = HookPayloadBase & Bag;

/** Something for the person that the host says in a notice. */
interface HookNotice {
  readonly code: string;
  readonly text: string;
}

/** What the hooks of one point have said so far. */
export class Outcome {
  /** As the hooks so far have made it. */
  payload: Payload;
  readonly faults: string[] = [];
  #action = 'proceed';
  #reason: string | undefined;
  #modifications: Bag | undefined;
  #stop: { stopReason?: string } | undefined;
  readonly #messages: string[] = [];
  readonly #notices: HookNotice[] = [];

  constructor(
    readonly point: string,
    payload: Payload,
  ) {
    this.payload = payload;
  }

  /** True: it blocks, nobody else is asked. */
  take({ action, reason, modifications, systemMessage, suppressOutput, _meta, ...rest }: HookResult): boolean {
    if (typeof systemMessage === 'string' && suppressOutput !== true) this.#messages.push(systemMessage);
    this.#note(_meta);
    if (rest.continue === false) {
      const { stopReason } = rest;
      this.#stop ??= typeof stopReason === 'string' ? { stopReason } : {};
      this.#block(stopReason ?? reason);
      return true;
    }
    if (!CONSENTS.has(action)) {
      // Only a call of a tool can be asked about: elsewhere who wants it asked does not agree.
      if (action !== 'ask' || this.point !== 'before_tool') {
        this.#block(reason);
        return true;
      }
      if (this.#action === 'proceed') this.#reason = textOrNone(reason);
      this.#action = 'ask';
    }
    if (modifications !== undefined) this.#change(modifications);
    return false;
  }

  toResult(): HookResult {
    const result: HookResult = { action: this.#action };
    if (this.#reason !== undefined) result.reason = this.#reason;
    if (this.#modifications !== undefined && this.#action !== 'block') result.modifications = this.#modifications;
    if (this.#messages.length > 0) result.systemMessage = this.#messages.join('\n');
    if (this.#stop !== undefined) Object.assign(result, { continue: false }, this.#stop);
    if (this.faults.length > 0 || this.#notices.length > 0) {
      result._meta = {
        ...(this.faults.length > 0 && { faults: this.faults }),
        ...(this.#notices.length > 0 && { notices: this.#notices }),
      };
    }
    return result;
  }

  #block(reason: unknown): void {
    this.#action = 'block';
    this.#reason = textOrNone(reason);
  }

  /** What a chain within this one has to tell. */
  #note(meta: Bag | undefined): void {
    if (Array.isArray(meta?.faults)) this.faults.push(...meta.faults.map(String));
    if (Array.isArray(meta?.notices)) this.#notices.push(...(meta.notices as HookNotice[]));
  }

  #change(change: Bag): void {
    const before = this.#modifications ?? {};
    const all: Bag = { ...before, ...change };
    if (before.suppress === true) all.suppress = true;
    const { additionalContext } = before;
    if (typeof additionalContext === 'string' && typeof change.additionalContext === 'string') {
      all.additionalContext = `${additionalContext}\n\n${change.additionalContext}`;
    }
    if (this.point === 'before_tool_selection') Object.assign(all, unionOf(before, change));
    if (isRecord(before.event) && isRecord(change.event)) all.event = { ...before.event, ...change.event };
    this.#modifications = all;
    this.payload = this.#changedPayload(all);
  }

  /** What the next hook is told. */
  #changedPayload(all: Bag): Payload {
    const { payload } = this;
    switch (this.point) {
      case 'on_event':
        return { ...payload, event: changedEvent(payload.event as AgentEvent, all.event as Bag) };
      case 'before_tool_selection':
        return { ...payload, request: { ...(payload.request as object), ...all } };
      default:
        return { ...payload, ...all };
    }
  }
}

/** The last two are what a command says for the first. */
const CONSENTS: ReadonlySet<string> = new Set(['proceed', 'approve', 'allow']);

const textOrNone = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const MODES = ['auto', 'any', 'none'];

/** Of several selections: the strictest mode, and every tool that one of them allows. */
function unionOf(before: Bag, change: Bag): Bag {
  const union: Bag = {};
  const [mode, other] = [before.toolMode, change.toolMode].map((one) => MODES.indexOf(String(one))) as [number, number];
  if (Math.max(mode, other) >= 0) union.toolMode = MODES[Math.max(mode, other)];
  const names = [before.allowedTools, change.allowedTools].filter(Array.isArray) as string[][];
  if (names.length > 0) union.allowedTools = [...new Set(names.flat())];
  return union;
}
