import { loadAdk } from './load.js';

export type { AdkBackend } from './backend.js';
export type { AdkToolOptions } from './bridge/adk-tool.js';
export type { HostContextCompactorOptions } from './bridge/context-compactor.js';
export type { HostModelOptions } from './bridge/host-model.js';
export type { HostSessionServiceOptions } from './bridge/host-sessions.js';
export type { InterceptorPluginOptions } from './bridge/interceptor-plugin.js';
export type { PolicyBridgeOptions } from './bridge/policy-bridge.js';
export type { BridgeHost } from './bridge/ports.js';
export { adkExecutor, driveAdk } from './executor.js';

type Bridge = typeof import('./bridge/index.js');

// Classes that extend ADK's cannot be there before ADK is; who has not installed it can still import this file.
const bridge: Bridge = await loadAdk(() => import('./bridge/index.js')).catch(withoutAdk);

export type HostModel = InstanceType<Bridge['HostModel']>;
export type HostSessionService = InstanceType<Bridge['HostSessionService']>;
export type HostContextCompactor = InstanceType<Bridge['HostContextCompactor']>;
export type InterceptorPlugin = InstanceType<Bridge['InterceptorPlugin']>;
export type PolicyBridge = InstanceType<Bridge['PolicyBridge']>;
export const { HostModel, HostSessionService, HostContextCompactor, InterceptorPlugin, PolicyBridge, toAdkTool } =
  bridge;

/** Says what is missing at the first use. */
function withoutAdk(missing: unknown): Bridge {
  class Missing {
    constructor() {
      throw missing;
    }
  }
  const toAdkTool = () => {
    throw missing;
  };
  return {
    HostModel: Missing,
    HostSessionService: Missing,
    HostContextCompactor: Missing,
    InterceptorPlugin: Missing,
    PolicyBridge: Missing,
    toAdkTool,
  } as unknown as Bridge;
}
