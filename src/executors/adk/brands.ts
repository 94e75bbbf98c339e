import type {
  AgentTool,
  BaseAgent,
  BaseNode,
  BaseTool,
  BaseToolset,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
} from '@google/adk';

const bears = (value: object, brand: string): boolean =>
  (value as Record<symbol, unknown>)[Symbol.for(`google.adk.${brand}`)] === true;

/** ADK marks its classes with registered symbols: what somebody made can be told apart before ADK is loaded here. */
const marked =
  <T>(brand: string) =>
  (value: unknown): value is T =>
    typeof value === 'object' && value !== null && bears(value, brand);

export const isAdkAgent = marked<BaseAgent>('baseAgent');
export const isAdkLlmAgent = marked<LlmAgent>('llmAgent');
export const isAdkTool = marked<BaseTool>('baseTool');
export const isAdkAgentTool = marked<AgentTool>('agentTool');
export const isAdkToolset = marked<BaseToolset>('baseToolset');
/** Whatever a runner takes as its root: agents, workflows, and the steps of one. */
export const isAdkNode = (value: unknown): value is BaseNode | BaseAgent =>
  isAdkAgent(value) || marked<BaseNode>('workflow.baseNode')(value);
const isBuiltInCode = marked<object>('builtInCodeExecutor');
const isSequential = marked<SequentialAgent>('sequentialAgent');
const isParallel = marked<ParallelAgent>('parallelAgent');
const isLoop = marked<LoopAgent>('loopAgent');

/** An agent by what can be done with it: translated, driven turn by turn, or only run as it is. */
export type Sorted =
  | { readonly kind: 'llm'; readonly agent: LlmAgent }
  | { readonly kind: 'sequential'; readonly agent: SequentialAgent }
  | { readonly kind: 'parallel'; readonly agent: ParallelAgent }
  | { readonly kind: 'loop'; readonly agent: LoopAgent }
  | { readonly kind: 'opaque'; readonly agent: BaseNode | BaseAgent };

/**
 * What runs in a way of its own is opaque: a class of somebody's that overrides how it runs, code that an agent's model
 * writes and the agent runs itself, callbacks of a container that no composition has.
 */
export function sortAgent(agent: BaseNode | BaseAgent): Sorted {
  if (isAdkLlmAgent(agent) && runsAs(agent, 'LlmAgent') && !runsCode(agent)) return { kind: 'llm', agent };
  if (!isAdkAgent(agent) || agent.beforeAgentCallback.length > 0 || agent.afterAgentCallback.length > 0)
    return { kind: 'opaque', agent };
  if (isSequential(agent) && runsAs(agent, 'SequentialAgent')) return { kind: 'sequential', agent };
  if (isParallel(agent) && runsAs(agent, 'ParallelAgent')) return { kind: 'parallel', agent };
  if (isLoop(agent) && runsAs(agent, 'LoopAgent')) return { kind: 'loop', agent };
  return { kind: 'opaque', agent };
}

const runsCode = ({ codeExecutor }: LlmAgent): boolean => codeExecutor !== undefined && !isBuiltInCode(codeExecutor);

/** Its `runAsyncImpl` and `runAsync` are those of ADK's class of that name. */
function runsAs(agent: object, className: string): boolean {
  return ownerOf(agent, 'runAsyncImpl') === className && ownerOf(agent, 'runAsync') === 'BaseAgent';
}

function ownerOf(agent: object, method: string): string | undefined {
  for (let at: object | null = agent; at !== null; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, method)) return at === agent ? undefined : at.constructor.name;
  }
  return undefined;
}
