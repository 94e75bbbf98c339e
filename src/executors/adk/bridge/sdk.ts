// biome-ignore lint/suspicious/noTsIgnore: it is not there for every user, and then it must be passed over
/** @ts-ignore An optional peer: a user without it has none of its types, and needs none. */
export {
  type AppendEventRequest,
  type BaseContextCompactor,
  BaseLlm,
  type BaseLlmConnection,
  BasePlugin,
  type BasePolicyEngine,
  BaseSessionService,
  BaseTool,
  type Context,
  ContextCompactionTrigger,
  type CreateSessionRequest,
  createEvent,
  createSession,
  type Event,
  type GetSessionRequest,
  type InvocationContext,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type LlmRequest,
  type LlmResponse,
  LlmSummarizer,
  type PolicyCheckResult,
  PolicyOutcome,
  type RunAsyncToolRequest,
  type Session,
  TokenBasedContextCompactor,
  type ToolCallPolicyContext,
  type ToolConfirmation,
} from '@google/adk';
// biome-ignore lint/suspicious/noTsIgnore: as above
/** @ts-ignore An optional peer. */
export type { Content, FunctionDeclaration } from '@google/genai';
