import type { Content } from '@google/genai';
import type { ToolDescriptor } from '../../contracts/index.js';
import type { AdkBinding } from './binding.js';

const REQUEST = { type: 'object', properties: { request: { type: 'string' } }, required: ['request'] };

type Args = Record<string, unknown>;

const isArgs = (args: unknown): args is Args => typeof args === 'object' && args !== null && !Array.isArray(args);

/**
 * Arguments that ADK's agents know by other names than the host: an agent that is called as a tool takes a `request`
 * there and a `prompt` here, and `transfer_to_agent` an `agentName` there and a `target` here. Either is understood.
 */
export interface CallArgs {
  declared(tool: ToolDescriptor): ToolDescriptor;
  /** Of a call that the model made. */
  taken(name: string, args: unknown): unknown;
  /** A history as the model knows its own calls. */
  shown(contents: Content[]): Content[];
}

export function callArgs({ agents, names }: AdkBinding['more'] = {}): CallArgs {
  return {
    declared: (tool) => (agents?.has(tool.name) ? { ...tool, parametersSchema: REQUEST } : tool),
    taken(name, args) {
      if (!isArgs(args)) return args;
      if (agents?.has(name) && args.prompt === undefined && typeof args.request === 'string') {
        const { request: prompt, ...rest } = args;
        return { ...rest, prompt };
      }
      const { agentName, ...rest } = args;
      if (name !== 'transfer_to_agent' || args.target !== undefined || typeof agentName !== 'string') return args;
      return { ...rest, target: names?.get(agentName) ?? agentName };
    },
    shown(contents) {
      if (agents === undefined || agents.size === 0) return contents;
      for (const { functionCall } of contents.flatMap(({ parts = [] }) => parts)) {
        if (functionCall?.args === undefined || !agents.has(functionCall.name ?? '')) continue;
        const { prompt, ...rest } = functionCall.args;
        if (prompt !== undefined) functionCall.args = { ...rest, request: prompt };
      }
      return contents;
    },
  };
}
