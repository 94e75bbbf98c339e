import type { Part } from '@a2a-js/sdk';
import type { ContentPart, ModelMessage, SessionStreamData, TurnContext } from '../../contracts/index.js';
import { textOf, toParts } from '../../kernel/content.js';
import { isDefaultInputSchema } from '../../kernel/schema.js';
import { dataPart, toWire } from './parts.js';

/** Structured input goes as data, anything else as what was said; with what went before, where the peer cannot know it. */
export function messageParts(inbox: readonly SessionStreamData[], context: TurnContext, isNew: boolean): Part[] {
  const said: ContentPart[] = [];
  for (const data of inbox) if (data.kind === 'message') said.push(...toParts(data.content));
  const isPlain = isDefaultInputSchema(context.definition.descriptor.inputSchema);
  const own = isPlain ? toWire(said) : [dataPart(context.input)];
  const before = isNew ? conversation(context.messages().slice(0, -1)) : '';
  return before === '' ? own : [...toWire([{ type: 'text', text: before }]), ...own];
}

function conversation(messages: readonly ModelMessage[]): string {
  if (!messages.some(({ role }) => role === 'model')) return '';
  const lines = messages.map(({ role, content }) => `${role === 'model' ? 'agent' : 'user'}: ${textOf(content)}`);
  return `The conversation so far:\n${lines.join('\n')}`;
}
