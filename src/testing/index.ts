export { validateLog } from '../kernel/log-validator.js';
export {
  type Script,
  type ScriptEntry,
  type ScriptedModel,
  type ScriptFunction,
  scriptedModel,
} from '../models/scripted.js';
export { type CompositionCase, compositionCases, type MakeComposition } from './composition-cases.js';
export { type ConformanceCase, type ConformanceSkip, withSkips } from './conformance.js';
export {
  type ExecutorCase,
  type ExecutorScenario,
  type ExecutorSetup,
  executorCases,
  type MakeExecutor,
} from './executor-cases.js';
export { expectNoLeaks, type LeakOptions } from './leaks.js';
export { type HostRecord, type MockHostContext, mockHostContext } from './mock-host-context.js';
export { type MockEvent, type MockScript, type MockSession, mockSession } from './mock-session.js';
export { type ReplayedModel, recordModel, replayModel } from './recorded-model.js';
export { seededRandom, shuffled } from './seeded.js';
export { type MakeStore, type StoreCase, storeCases } from './store-cases.js';
export { type VirtualClock, virtualClock } from './virtual-clock.js';
