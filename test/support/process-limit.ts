import { vi } from 'vitest';

/**
 * Of a test that starts processes, and of what is done before and after it: on a machine with much else to do a process
 * may take many seconds to begin. Imported by every such file, for all of its tests.
 */
export const PROCESS_LIMIT_MS = 120_000;

vi.setConfig({ testTimeout: PROCESS_LIMIT_MS, hookTimeout: PROCESS_LIMIT_MS });
