/** Whether a value has the form that it must have, and that form in words. */
type Form = readonly [fits: (value: unknown) => boolean, be: string];
type Forms = Readonly<Record<string, Form>>;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isParts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((part) => isRecord(part) && typeof part.type === 'string');

const text: Form = [(value) => typeof value === 'string', 'a text'];
const flag: Form = [(value) => typeof value === 'boolean', 'true or false'];
const object: Form = [isRecord, 'an object'];
const parts: Form = [isParts, 'a list of content parts'];
const names: Form = [
  (value) => Array.isArray(value) && value.every((name) => typeof name === 'string'),
  'a list of names',
];
const response: Form = [(value) => isRecord(value) && isParts(value.content), 'a model response with content'];
const request: Form = [(value) => isRecord(value) && Array.isArray(value.messages), 'a model request with messages'];
const result: Form = [(value) => isRecord(value) && isParts(value.llmContent), 'a tool result with llmContent'];
const toolMode: Form = [(value) => value === 'auto' || value === 'any' || value === 'none', '"auto", "any" or "none"'];
const tailCall: Form = [(value) => isRecord(value) && typeof value.name === 'string', 'a call { name, args }'];

/** What a hook may change, by point. */
const FORMS: ReadonlyMap<string, Forms> = new Map<string, Forms>([
  ['session_start', { additionalContext: text }],
  ['on_user_message', { content: parts }],
  ['before_run', { additionalContext: text, response: text }],
  ['before_agent', { additionalContext: text, response: text }],
  ['after_agent', { clearContext: flag }],
  ['before_model', { request, response }],
  ['before_tool_selection', { toolMode, allowedTools: names }],
  ['after_model', { response }],
  ['on_model_error', { response }],
  ['before_tool', { args: object }],
  ['after_tool', { additionalContext: text, tailCall }],
  ['on_tool_error', { result }],
  ['after_run', {}],
  ['session_end', {}],
  ['notification', { suppress: flag, message: text }],
  ['on_event', { event: object }],
  ['pre_compress', { suppress: flag }],
]);

/** What a hook wants to change and may not, or not to that; nothing where all is well. Of an unknown point anything goes. */
export function modificationFault(point: string, modifications: Readonly<Record<string, unknown>>): string | undefined {
  const forms = FORMS.get(point);
  if (forms === undefined) return undefined;
  for (const [key, value] of Object.entries(modifications)) {
    if (value === undefined) continue;
    const form = Object.hasOwn(forms, key) ? forms[key] : undefined;
    if (form === undefined) {
      const may = Object.keys(forms).join(', ') || 'nothing';
      return `wants to change "${key}"; at ${point} it may change: ${may}`;
    }
    const [fits, be] = form;
    if (!fits(value)) return `has a ${key} that is not ${be}`;
  }
  return undefined;
}
