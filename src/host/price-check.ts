import { type Problem, throwProblems } from '../kernel/errors.js';
import type { HostCore } from './host-core.js';
import { unknownPrice } from './model-budget.js';
import type { CompiledAgent } from './thread.js';
import type { RunOptions } from './types.js';

/** Executors that ask the host's models only. */
const OWN_EXECUTORS: ReadonlySet<string> = new Set(['local', 'openrouter']);

/** Whether the host's models are asked; an agent of ADK has one of its own where none is named. */
const asksHost = (executor: string, wanted: unknown): boolean =>
  OWN_EXECUTORS.has(executor) || (executor === 'adk' && wanted !== undefined);

/**
 * A limit in USD cannot be kept with a model of which nobody knows what it costs: refused before anything runs, naming
 * every agent and model. What a router will say is known only then, and refused then.
 */
export function assertPriced(host: HostCore, agent: CompiledAgent, { maxBudgetUsd, model }: RunOptions): void {
  if (maxBudgetUsd === undefined && !agent.isBudgeted) return;
  const problems: Problem[] = [];
  visit(agent, maxBudgetUsd !== undefined, agent.definition.name);
  throwProblems(problems, 'UNKNOWN_PRICE');

  function visit(one: CompiledAgent, isAbove: boolean, path: string): void {
    const isLimited = isAbove || one.limits.maxBudgetUsd !== Number.POSITIVE_INFINITY;
    const wanted = model ?? one.driver.model;
    const { executor } = one.driver.descriptor;
    const own = isLimited && wanted === undefined ? host.executors.get(executor)?.ownModel?.(one.driver) : undefined;
    if (own !== undefined && host.models.price(own) === undefined)
      problems.push({ code: 'UNKNOWN_PRICE', path, message: unknownPrice(own) });
    if (isLimited && one.behaviour === 'turn' && asksHost(executor, wanted)) {
      for (const choice of host.models.reachable(wanted)) {
        const name = typeof choice === 'string' ? choice : 'custom';
        if (host.models.price(name) !== undefined || host.models.reportsCost(choice)) continue;
        problems.push({ code: 'UNKNOWN_PRICE', path, message: unknownPrice(name) });
      }
    }
    for (const child of one.children) visit(child, isLimited, `${path}/${child.definition.name}`);
  }
}
