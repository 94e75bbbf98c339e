import { graphComposition } from '../compositions/graph.logic.js';
import { hierarchicalMachine } from '../compositions/hierarchical.machine.js';
import { loopMachine } from '../compositions/loop.machine.js';
import { parallelMachine } from '../compositions/parallel.machine.js';
import { sequentialMachine } from '../compositions/sequential.machine.js';
import { transferMachine } from '../compositions/transfer.machine.js';
import { hierarchical } from './define/hierarchical.js';
import { loop } from './define/loop.js';
import { parallel } from './define/parallel.js';
import { sequential } from './define/sequential.js';
import { transfer } from './define/transfer.js';
import { adkExecutor } from './executors/adk/executor.js';
import { adkReader } from './executors/adk/reader.js';
import type { AdkCompose } from './executors/adk/tree.js';
import { localExecutor } from './executors/local/index.js';
import { remoteExecutor } from './executors/remote/index.js';
import { createHookChain } from './hooks/chain.js';
import type { CompositionMachine } from './host/agent-logics.js';
import type { HostParts } from './host/create-host.js';
import { createModelCatalog } from './models/catalog.js';
import type { BuiltinProvider } from './models/registry.js';
import { createHostPolicy } from './policy/host-policy.js';
import { memoryStore } from './stores/memory.js';

/** Model providers by the name before the slash. Each is imported when a model of it is first used. */
const providers: Readonly<Record<string, BuiltinProvider>> = {
  gemini: {
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL'],
    open: async (name) => (await import('./models/gemini.js')).geminiModel({ name }),
  },
  openai: {
    variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    open: async (name) => (await import('./models/openai.js')).openaiModel({ name }),
  },
  openrouter: {
    variables: ['OPENROUTER_API_KEY', 'OPENROUTER_BASE_URL'],
    reportsCost: true,
    open: async (name) => (await import('./models/openrouter.js')).openrouterModel({ name }),
  },
};

/** What containers of ADK become. */
const compositionsOfAdk = { sequential, parallel, loop, transfer, hierarchical } as unknown as AdkCompose;

/** What a host is made of: one line per executor and composition. */
export const builtins: HostParts = {
  executors: {
    local: localExecutor,
    openrouter: localExecutor,
    remote: remoteExecutor,
    adk: adkExecutor,
  },
  backends: { adk: () => adkReader(compositionsOfAdk) },
  compositions: {
    sequential: sequentialMachine as unknown as CompositionMachine,
    parallel: parallelMachine as unknown as CompositionMachine,
    loop: loopMachine as unknown as CompositionMachine,
    transfer: transferMachine as unknown as CompositionMachine,
    hierarchical: hierarchicalMachine as unknown as CompositionMachine,
    graph: graphComposition,
  },
  models: (options, clock) => createModelCatalog(options, providers, clock),
  policy: createHostPolicy,
  hooks: createHookChain,
  skills: async () => (await import('./define/skills/reader.js')).skillReader,
  store: memoryStore,
  restoreFile: async (file) => (await import('./tools/workspace/restore-file.js')).restoreFile(file),
  studio: async (inspections, options) => (await import('./studio/server.js')).serveStudio(inspections, options),
};
