import {
  AuthHandler,
  type BaseTool,
  Context,
  createEventActions,
  createSession,
  type EventActions,
  InMemoryArtifactService,
  InvocationContext,
  PluginManager,
  State,
  ToolConfirmation,
} from '@google/adk';
import type { Bag, JsonSchema, ToolContext } from '../../contracts/index.js';
import { toToolResult } from '../../kernel/tool-result.js';
import { artifactsIn, artifactsOf } from './artifacts.js';
import { type AdkBinding, sessionKey } from './binding.js';
import type { AdkSession } from './session.js';
import { ownName } from './tool-names.js';

/** A tool that asks again and again is not asked for ever. */
const MOST_QUESTIONS = 5;

type Args = Record<string, unknown>;

/**
 * Runs one tool of an ADK agent for a call that the host has let through, and asks a person what it asks for:
 * confirmation, a credential, the result of something that takes long. Rejects as the tool does.
 */
export async function runOwnTool(
  binding: AdkBinding,
  template: BaseTool,
  args: Args,
  context: ToolContext,
): Promise<unknown> {
  const session = binding.sessions.get(sessionKey(context));
  const tool = session?.toolNamed(ownName(template)) ?? template;
  // Whoever let it through has confirmed it.
  let confirmation = (await tool.checkRequireConfirmation(args))
    ? new ToolConfirmation({ confirmed: true })
    : undefined;
  const credentials: Bag = {};
  for (let asked = 0; ; asked++) {
    const call = { tool, args, context, session, binding, confirmation, credentials };
    const { result, actions } = await callOnce(call);
    takeState(actions, context);
    // A store of the host's tells of what it saved.
    if (context.artifacts === undefined) session?.noteArtifacts(actions.artifactDelta);
    const question = actions.requestedToolConfirmations[context.requestId];
    if (question !== undefined && asked < MOST_QUESTIONS) {
      confirmation = await askConfirmation(call, question);
      continue;
    }
    const auth = actions.requestedAuthConfigs[context.requestId];
    if (auth !== undefined && asked < MOST_QUESTIONS) {
      const isGiven = (asked === 0 && (await takeKeptCredential(call, auth))) || (await askCredential(call, auth));
      if (!isGiven) return { error: `${tool.name} was given no credential` };
      continue;
    }
    if (!tool.isLongRunning || (result !== undefined && result !== null)) return ended(call, actions, result);
    // Its result comes from outside: that it has none of its own ends nothing.
    return ended(call, { ...actions, skipSummarization: false }, await askResult(call));
  }
}

interface Calling {
  readonly tool: BaseTool;
  readonly args: Args;
  readonly context: ToolContext;
  readonly session: AdkSession | undefined;
  readonly binding: AdkBinding;
  readonly confirmation: ToolConfirmation | undefined;
  readonly credentials: Bag;
}

/** One run of the tool between the callbacks of its agent, as ADK's own loop does it. */
async function callOnce(call: Calling): Promise<{ result: unknown; actions: EventActions }> {
  const { tool, binding, session, confirmation, context } = call;
  const agent = session?.agent ?? binding.agent;
  const args = structuredClone(call.args);
  const actions = createEventActions();
  const toolContext = new Context({
    invocationContext: invocationOf(call),
    eventActions: actions,
    functionCallId: context.requestId,
    ...(confirmation !== undefined && { toolConfirmation: confirmation }),
  });
  const { pluginManager } = toolContext.invocationContext;
  const plugged = { tool, toolArgs: args, toolContext };
  const answered = await pluginManager.runBeforeToolCallback(plugged);
  if (answered) return { result: answered, actions };
  for (const callback of agent.canonicalBeforeToolCallbacks) {
    const answer = await callback({ tool, args, context: toolContext });
    if (answer) return { result: answer, actions };
  }
  let result: unknown;
  try {
    result = await tool.runAsync({ args, toolContext });
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    result = await pluginManager.runOnToolErrorCallback({ ...plugged, error });
    if (result === undefined) throw thrown;
  }
  const replaced = await pluginManager.runAfterToolCallback({ ...plugged, result: objectOf(result) });
  if (replaced) return { result: replaced, actions };
  for (const callback of agent.canonicalAfterToolCallbacks) {
    const changed = await callback({ tool, args, context: toolContext, response: objectOf(result) });
    if (!changed) continue;
    result = changed;
    break;
  }
  return { result, actions };
}

const objectOf = (result: unknown): Record<string, unknown> =>
  typeof result === 'object' && result !== null && !Array.isArray(result)
    ? (result as Record<string, unknown>)
    : { result };

function invocationOf({ context, session, binding, credentials }: Calling): InvocationContext {
  const { sessionId, artifacts } = context;
  const now = session?.current;
  const state = { ...context.state.values(), ...credentials };
  return new InvocationContext({
    invocationId: `e-${context.requestId}`,
    agent: session?.agent ?? binding.agent,
    session: createSession({
      ...(now ?? { id: sessionKey(context), appName: 'troupe', userId: context.userId, events: [], lastUpdateTime: 0 }),
      state,
    }),
    ...(now !== undefined && session !== undefined && { userContent: session.userContent }),
    artifactService:
      artifacts === undefined
        ? (session?.artifactsOf(sessionId) ?? artifactsIn(new InMemoryArtifactService(), sessionId))
        : artifactsOf(artifacts, sessionId),
    pluginManager: new PluginManager([...(binding.more.plugins ?? [])]),
    abortSignal: context.signal,
  });
}

/** What the tool wrote goes into the tree's state. */
function takeState({ stateDelta }: EventActions, { state }: ToolContext): void {
  for (const [key, value] of Object.entries(stateDelta)) state.set(key, value);
}

async function askConfirmation({ tool, args, context }: Calling, asked: ToolConfirmation): Promise<ToolConfirmation> {
  const { action, content } = await context.elicit({
    kind: 'tool_confirmation',
    message: asked.hint || `May ${tool.name} go on?`,
    context: { tool: tool.name, args, ...(asked.payload !== undefined && { payload: asked.payload }) },
  });
  const confirmed = action === 'accept' && content?.confirmed !== false;
  const { payload = asked.payload } = content ?? {};
  return new ToolConfirmation({ hint: asked.hint, confirmed, payload });
}

type AuthConfig = EventActions['requestedAuthConfigs'][string];

/** What the user has given before, for the same key. */
async function takeKeptCredential({ context, credentials }: Calling, auth: AuthConfig): Promise<boolean> {
  const kept = await context.credentials.get(auth.credentialKey);
  if (kept === undefined || kept === null) return false;
  await giveCredential(credentials, auth, kept);
  return true;
}

async function askCredential({ tool, context, credentials }: Calling, auth: AuthConfig): Promise<boolean> {
  const { authScheme, credentialKey, exchangedAuthCredential } = auth;
  const authUri = exchangedAuthCredential?.oauth2?.authUri;
  const { action, content } = await context.elicit({
    kind: 'auth_required',
    message: `${tool.name} needs a credential${authUri === undefined ? '' : `: sign in at ${authUri}`}`,
    context: {
      tool: tool.name,
      provider: credentialKey,
      scheme: authScheme.type,
      ...(authUri !== undefined && { authUri }),
    },
  });
  if (action !== 'accept' || content === undefined) return false;
  await giveCredential(credentials, auth, content.credential ?? content);
  return true;
}

/** To the tool, under the key that it looks it up by; into no state and no session. A text is a key of an API. */
async function giveCredential(credentials: Bag, auth: AuthConfig, given: unknown): Promise<void> {
  const credential = typeof given === 'string' ? { authType: 'apiKey', apiKey: given } : given;
  const exchangedAuthCredential = credential as NonNullable<AuthConfig['exchangedAuthCredential']>;
  await new AuthHandler({ ...auth, exchangedAuthCredential }).parseAndStoreAuthResponse(new State({}, credentials));
}

/** A tool that takes long and has no result yet: a person, or who answers for one, brings it. */
async function askResult({ tool, args, context }: Calling): Promise<unknown> {
  const schema = args.response_schema;
  const { action, content } = await context.elicit({
    kind: 'clarification',
    message: typeof args.message === 'string' ? args.message : `${tool.name} waits for its result`,
    ...(isObjectSchema(schema) && { requestedSchema: schema }),
    context: { tool: tool.name, args },
  });
  if (action !== 'accept') return { error: action === 'decline' ? 'declined' : 'nobody answered' };
  const keys = Object.keys(content ?? {});
  return keys.length === 1 && keys[0] === 'result' ? content?.result : (content ?? {});
}

const isObjectSchema = (schema: unknown): schema is JsonSchema =>
  typeof schema === 'object' && schema !== null && (schema as { type?: unknown }).type === 'object';

/** What a tool asked for beside its result, in the host's way: through calls that pass its gate, or the end of the run. */
function ended({ session, context }: Calling, actions: EventActions, value: unknown): unknown {
  const { escalate, transferToAgent, skipSummarization } = actions;
  const result = toToolResult(value);
  const tail = (name: string, args: Bag) => ({ ...result, tailCalls: [{ requestId: '', name, args }] });
  if (escalate && session?.offers('exit_loop')) return tail('exit_loop', {});
  if (transferToAgent !== undefined && session?.offers('transfer_to_agent')) {
    return tail('transfer_to_agent', { target: session.nameOf(transferToAgent) });
  }
  if (skipSummarization && !result.isError) session?.endWith(context.requestId, value);
  return result;
}
