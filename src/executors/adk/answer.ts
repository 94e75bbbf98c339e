import type { Event } from '@google/adk';
import type { Bag, ContentPart, ModelToolCall, ModelUsage, TurnContext, TurnEnd } from '../../contracts/index.js';
import { createModelTurn, type ModelTurn } from '../../kernel/model-turn.js';
import type { WireNames } from '../../kernel/wire-names.js';
import type { CallArgs } from './call-args.js';
import { fromAdkPart } from './parts.js';
import { callsOf, finishOf } from './translate.js';

type Target = Pick<TurnContext, 'publish' | 'newMessageId' | 'toolsOff'>;

/**
 * One model call of an ADK agent on its way to becoming a message. ADK says an answer in pieces and then once more as
 * a whole, under other ids: what was said is not said again.
 */
export class Answer {
  readonly turn: ModelTurn;
  /** Said in pieces, and not yet seen in a whole. */
  #text = '';
  #thought = '';
  readonly #signatures = new Set<string>();
  readonly #calls: ModelToolCall[] = [];
  /** Calls that stood in a piece: they count when no whole brings them. */
  readonly #early: ModelToolCall[] = [];

  constructor(
    target: Target,
    modelName: string,
    private readonly names: WireNames,
    private readonly takenArgs: CallArgs['taken'] = (_, args) => args,
    routing?: Bag,
  ) {
    this.turn = createModelTurn(target, modelName, routing);
  }

  /** Takes an event of the agent. A promise when the consumer is behind. */
  take(event: Event): undefined | Promise<void> {
    const content: ContentPart[] = [];
    for (const part of event.content?.parts ?? []) {
      const ours = fromAdkPart(part);
      if (ours !== undefined) content.push(...(event.partial ? this.#piece(ours) : this.#whole(ours)));
    }
    const calls = callsOf(event).map((call) => this.#call(call, event.partial === true));
    const finishReason = event.partial ? undefined : finishOf(event);
    if (event.partial) this.#early.push(...calls);
    else this.#calls.push(...calls);
    return this.turn.take({
      content,
      ...(calls.length > 0 && !event.partial && { toolCalls: calls }),
      ...(finishReason !== undefined && finishReason !== 'error' && { finishReason }),
    });
  }

  usage(usage: ModelUsage): void {
    this.turn.take({ content: [], usage });
  }

  idsOf(names: ReadonlySet<string>): string[] {
    return this.#calls.flatMap(({ id, name }) => (id !== undefined && names.has(name) ? [id] : []));
  }

  /** Asks for the calls, or ends the run. */
  finish(): TurnEnd | undefined {
    if (this.#calls.length === 0 && this.#early.length > 0) this.turn.take({ content: [], toolCalls: this.#early });
    return this.turn.finish();
  }

  /** ADK copies the last signature that it saw onto every later call of a stream: it belongs to the first that had it. */
  #call({ thoughtSignature, ...call }: ModelToolCall, isPiece: boolean): ModelToolCall {
    const name = this.names.back(call.name);
    const named = { ...call, name, args: this.takenArgs(name, call.args) };
    if (thoughtSignature === undefined || this.#signatures.has(thoughtSignature)) return named;
    if (!isPiece) this.#signatures.add(thoughtSignature);
    return { ...named, thoughtSignature };
  }

  #piece(part: ContentPart): ContentPart[] {
    if (part.type === 'text') this.#text += part.text;
    if (part.type === 'thought') this.#thought += part.thought;
    const signature = signatureOf(part);
    if (signature !== undefined) this.#signatures.add(signature);
    return [part];
  }

  #whole(part: ContentPart): ContentPart[] {
    const signature = signatureOf(part);
    const isKnown = signature !== undefined && this.#signatures.has(signature);
    if (signature !== undefined) this.#signatures.add(signature);
    if (part.type === 'text') {
      const { rest, left } = unsaid(part.text, this.#text);
      this.#text = left;
      if (rest !== '') return [{ ...part, text: rest }];
      return signature === undefined || isKnown ? [] : [{ ...part, text: '' }];
    }
    if (part.type === 'thought') {
      const { rest, left } = unsaid(part.thought, this.#thought);
      this.#thought = left;
      if (rest !== '') return [{ ...part, thought: rest }];
      return signature === undefined || isKnown ? [] : [{ ...part, thought: '' }];
    }
    return [part];
  }
}

const signatureOf = (part: ContentPart): string | undefined => {
  const signature = part.type === 'thought' ? part.thoughtSignature : part._meta?.thoughtSignature;
  return typeof signature === 'string' ? signature : undefined;
};

/** What of `whole` has not been said, when `said` has; and what of `said` still waits for its whole. */
function unsaid(whole: string, said: string): { rest: string; left: string } {
  if (said === '') return { rest: whole, left: '' };
  if (said.startsWith(whole)) return { rest: '', left: said.slice(whole.length) };
  if (whole.startsWith(said)) return { rest: whole.slice(said.length), left: '' };
  // Changed after it was said: it stands as it was said.
  return { rest: '', left: '' };
}
