export { toAdkTool } from './adk-tool.js';
export { HostContextCompactor } from './context-compactor.js';
export { HostModel } from './host-model.js';
export { HostSessionService } from './host-sessions.js';
export { InterceptorPlugin } from './interceptor-plugin.js';
export { PolicyBridge } from './policy-bridge.js';
