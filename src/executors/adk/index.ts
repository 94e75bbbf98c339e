export type { AdkBackend } from './binding.js';
export { adkExecutor, driveAdk } from './executor.js';
