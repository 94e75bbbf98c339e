import type { Bag, ModelChoice, ModelRequest, RouteAnswer, RouterStrategy } from '../contracts/index.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { houseCall } from './house-call.js';
import { type RunRoute, runModels } from './run-models.js';
import { notice, publish } from './session-tree.js';
import { StrategyWait } from './strategy-wait.js';
import type { RunRecord, Thread } from './thread.js';
import type { Turn } from './turn-context.js';

/**
 * The model of this turn before availability: what the run was given, else what the router said when it was first
 * asked in this run, else the agent's own. A strategy that throws, that takes too long, or that names no model is passed
 * over with a notice.
 */
export async function routeOf(thread: Thread, run: RunRecord, turn: Turn, request: ModelRequest): Promise<RunRoute> {
  const { tree, agent } = thread;
  const { settings } = tree;
  if (settings.model !== undefined)
    return { choice: settings.model, routing: { by: 'override', ...asked(settings.model) } };
  const requested = agent.driver.model;
  const { router } = tree.host.models;
  if (router.length === 0) return { choice: requested, routing: { by: 'default', ...asked(requested) } };
  const models = runModels(run);
  models.route ??= await askRouter(router, thread, turn, request);
  return models.route;
}

const asked = (choice: ModelChoice | undefined): Bag => (typeof choice === 'string' ? { requested: choice } : {});

async function askRouter(
  router: readonly RouterStrategy[],
  thread: Thread,
  turn: Turn,
  request: ModelRequest,
): Promise<RunRoute> {
  const { tree, agent } = thread;
  const { clock } = tree.host;
  const requested = agent.driver.model;
  const begunAt = clock.now();
  for (const strategy of router) {
    const answer = await answerOf(strategy, thread, turn, request);
    if (turn.aborted) break;
    if (answer === undefined) continue;
    const routing: Bag = {
      by: strategy.name,
      ...asked(requested),
      ...(typeof answer.model === 'string' && { chosen: answer.model }),
      ...(answer.reason !== undefined && { reason: answer.reason }),
      latencyMs: clock.now() - begunAt,
    };
    publish(thread, { type: 'custom', kind: 'decision', data: { decision: 'router', ...routing }, source: 'host' });
    return { choice: answer.model, routing };
  }
  return { choice: requested, routing: { by: 'default', ...asked(requested), latencyMs: clock.now() - begunAt } };
}

async function answerOf(
  strategy: RouterStrategy,
  thread: Thread,
  turn: Turn,
  request: ModelRequest,
): Promise<{ model: ModelChoice; reason?: string } | undefined> {
  const { models, clock } = thread.tree.host;
  const wait = new StrategyWait(clock, turn);
  try {
    const answer = narrowed(
      await wait.for(
        strategy.route({
          history: request.messages,
          request,
          requested: thread.agent.driver.model,
          agent: thread.agentId,
          threadId: thread.threadId,
          permissionMode: thread.tree.settings.permissionMode,
          get signal() {
            return wait.signal();
          },
          ask: (choice, asking) => wait.whileAsking((call) => houseCall(thread, { choice, request: asking, ...call })),
        }),
      ),
    );
    const fault = answer === undefined ? undefined : models.fault(answer.model);
    if (fault === undefined) return answer;
    notice(thread, 'ROUTER_FAILED', 'warning', `the strategy "${strategy.name}" was passed over: ${fault}`);
  } catch (thrown) {
    if (turn.aborted) return undefined;
    const { message } = describeError(thrown);
    notice(thread, 'ROUTER_FAILED', 'warning', `the strategy "${strategy.name}" was passed over: ${message}`);
  }
  return undefined;
}

function narrowed(answer: RouteAnswer): { model: ModelChoice; reason?: string } | undefined {
  if (answer === undefined || answer === null) return undefined;
  if (typeof answer === 'string') return { model: answer };
  if (typeof answer === 'object' && 'generate' in answer) return { model: answer };
  if (typeof answer === 'object' && answer.model !== undefined) return answer;
  throw new TroupeError({
    code: 'INVALID_OPTION',
    message: 'it must answer with a model, its name, { model, reason } or nothing',
  });
}
