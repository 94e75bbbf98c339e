import type { AgentDescriptor } from '../contracts/index.js';

/** The executor of an agent that is a plain function; the host runs it itself. */
export const FUNCTION_EXECUTOR = 'function';

export const isFunctionAgent = ({ executor }: AgentDescriptor): boolean => executor === FUNCTION_EXECUTOR;
