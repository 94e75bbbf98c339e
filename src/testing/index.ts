export { validateLog } from '../kernel/log-validator.js';
export {
  type Script,
  type ScriptEntry,
  type ScriptedModel,
  type ScriptFunction,
  scriptedModel,
} from '../models/scripted.js';
export { expectNoLeaks } from './leaks.js';
export { seededRandom, shuffled } from './seeded.js';
export { virtualClock } from './virtual-clock.js';
