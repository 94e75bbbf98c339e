import { builtins } from './builtins.js';
import { createHostFrom } from './host/create-host.js';
import type { Host, HostOptions } from './host/types.js';

/**
 * Makes a host: the owner of policy, hooks, tools, approvals, limits and logs, and the supervisor of every session
 * that it runs. Throws `TroupeError` with every fault of its options. Close it when done (`await using`, or `close()`).
 */
export const createHost = (options: HostOptions = {}): Host => createHostFrom(builtins, options);

export type * from './contracts/index.js';
export { agent } from './define/agent.js';
export { commandHook } from './define/command-hook.js';
export type { CompositionDefinition } from './define/composition.js';
export { type Extension, openExtension } from './define/extension/open-extension.js';
export { graph } from './define/graph.js';
export type { NodeContext, NodeFunction } from './define/graph-types.js';
export { hierarchical } from './define/hierarchical.js';
export { defineHook } from './define/hook.js';
export { loop } from './define/loop.js';
export { parallel } from './define/parallel.js';
export type { ProjectItem } from './define/project/items.js';
export { openProject, type Project, type ProjectOptions, trustProject } from './define/project/project.js';
export { type FolderTrust, type TrustStore, trustFile } from './define/project/trust-store.js';
export { sequential } from './define/sequential.js';
export { tool } from './define/tool.js';
export { transfer } from './define/transfer.js';
export type { CommandHookOptions } from './hooks/command.js';
export { type HookSchemas, hookSchemas } from './hooks/schemas.js';
export type {
  ElicitationCallback,
  Host,
  HostLimits,
  HostModels,
  HostOptions,
  HostSession,
  PersistedThread,
  Run,
  RunOptions,
  RunResult,
  RunState,
  ThreadState,
} from './host/types.js';
export { textOf } from './kernel/content.js';
export { ModelError, type Problem, TroupeError, type TroupeErrorCode } from './kernel/errors.js';
export { type Pending, pending } from './kernel/pending.js';
export type { PolicyRule, PolicyRuleSet, PolicyStanding, PolicyTier } from './kernel/policy-rules.js';
export { INTERFACE_VERSION, isCompatible } from './kernel/version.js';
export { type DynamicPolicy, dynamicRules } from './policy/dynamic.js';
export { type PolicyFileOptions, policyFromToml } from './policy/toml.js';
export { memoryStore } from './stores/memory.js';
