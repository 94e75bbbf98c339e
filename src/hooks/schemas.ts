import type { HookPoint, JsonSchema } from '../contracts/index.js';

/** What a command hook reads on stdin and may write on stdout, as JSON Schema 2020-12. */
export interface HookSchemas {
  readonly input: JsonSchema;
  readonly output: JsonSchema;
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const object = { type: 'object' } as const;
const parts = { type: 'array', items: { type: 'object', properties: { type: text }, required: ['type'] } } as const;
const request = { type: 'object', properties: { messages: { type: 'array' } }, required: ['messages'] } as const;
const response = { type: 'object', properties: { content: parts }, required: ['content'] } as const;
const result = { type: 'object', properties: { llmContent: parts, isError: flag }, required: ['llmContent'] } as const;
const mcp = { type: 'object', properties: { server: text, tool: text } } as const;
const names = { type: 'array', items: text } as const;
const tailCall = { type: 'object', properties: { name: text, args: {} }, required: ['name'] } as const;
const call = { tool: text, args: {}, requestId: text, mcp } as const;

type Properties = Readonly<Record<string, object>>;

/** What a point tells beside what all tell (`optional` need not be there), and what may be changed at it. */
const POINTS: Readonly<Record<HookPoint, { tells: Properties; optional?: readonly string[]; changes: Properties }>> = {
  session_start: {
    tells: { source: { ...text, examples: ['startup', 'resume', 'clear'] } },
    changes: { additionalContext: text },
  },
  on_user_message: { tells: { content: parts }, changes: { content: parts } },
  before_run: { tells: { prompt: parts }, changes: { additionalContext: text, response: text } },
  before_agent: { tells: { prompt: parts }, changes: { additionalContext: text, response: text } },
  after_agent: { tells: { prompt: parts, response: {}, stopHookActive: flag }, changes: { clearContext: flag } },
  before_model: { tells: { request }, changes: { request, response } },
  before_tool_selection: {
    tells: { request },
    changes: { toolMode: { enum: ['auto', 'any', 'none'] }, allowedTools: names },
  },
  after_model: { tells: { request, response }, changes: { response } },
  on_model_error: { tells: { request, error: object }, changes: { response } },
  before_tool: { tells: call, optional: ['mcp'], changes: { args: object } },
  after_tool: { tells: { ...call, result }, optional: ['mcp'], changes: { additionalContext: text, tailCall } },
  on_tool_error: { tells: { ...call, error: result }, optional: ['mcp'], changes: { result } },
  after_run: { tells: { reason: text, result: {} }, optional: ['result'], changes: {} },
  session_end: { tells: { reason: text }, changes: {} },
  notification: {
    tells: { type: text, message: text, details: object },
    optional: ['details'],
    changes: { suppress: flag, message: text },
  },
  on_event: { tells: { event: object }, changes: { event: object } },
  pre_compress: { tells: { trigger: { ...text, examples: ['manual', 'auto'] } }, changes: { suppress: flag } },
};

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

function schemasOf(point: HookPoint): HookSchemas {
  const { tells, optional = [], changes } = POINTS[point];
  const base = { point: { const: point }, sessionId: text, threadId: text, principalPath: text, mode: text };
  return {
    input: {
      $schema: DRAFT,
      title: `${point}: input`,
      type: 'object',
      properties: { ...base, ...tells },
      required: [
        ...['point', 'sessionId', 'principalPath', 'mode'],
        ...Object.keys(tells).filter((key) => !optional.includes(key)),
      ],
    },
    output: {
      $schema: DRAFT,
      title: `${point}: output`,
      type: 'object',
      properties: {
        continue: flag,
        stopReason: text,
        suppressOutput: flag,
        systemMessage: text,
        decision: { enum: ['ask', 'block', 'deny', 'approve', 'allow'] },
        reason: text,
        hookSpecificOutput: {
          type: 'object',
          properties: { hookEventName: text, ...changes },
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    },
  };
}

/** By point. */
export const hookSchemas: Readonly<Record<HookPoint, HookSchemas>> = Object.fromEntries(
  (Object.keys(POINTS) as HookPoint[]).map((point) => [point, schemasOf(point)]),
) as Record<HookPoint, HookSchemas>;
