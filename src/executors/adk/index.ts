export type { AdkBackend } from './backend.js';
export { adkExecutor, driveAdk } from './executor.js';
