export { validateLog } from '../kernel/log-validator.js';
export {
  type Script,
  type ScriptEntry,
  type ScriptedModel,
  type ScriptFunction,
  scriptedModel,
} from '../models/scripted.js';
export { expectNoLeaks, type LeakOptions } from './leaks.js';
export { type MockEvent, type MockScript, type MockSession, mockSession } from './mock-session.js';
export { seededRandom, shuffled } from './seeded.js';
export { type VirtualClock, virtualClock } from './virtual-clock.js';
