import { createHash } from 'node:crypto';
import type { ElicitationResponse, JsonSchema, ToolPreview } from '../contracts/index.js';
import { canonicalJson } from '../kernel/json-value.js';
import { publish } from './session-tree.js';
import { argsFor, copyArgs } from './tool-args.js';
import { askFor, type Call, describe, signal } from './tool-call.js';
import { previewOf } from './tool-preview.js';

const APPROVAL_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    outcome: {
      enum: ['proceed_once', 'proceed_always', 'proceed_always_tool', 'modify', 'cancel'],
      default: 'proceed_once',
    },
    modifiedArgs: { type: 'object' },
  },
};

/** Asks whether exactly this may run: who, which tool, with which arguments. */
export function askApproval(
  call: Call,
  hint: string | undefined,
  rule: string | undefined,
): Promise<ElicitationResponse> {
  call.stage = 'asking';
  signal(call, 'call.asked');
  publish(call.thread, { type: 'tool_update', requestId: call.requestId, status: 'awaiting_approval' });
  const shown = previewOf(call);
  return shown instanceof Promise
    ? shown.then((preview) => askShowing(call, hint, rule, preview))
    : askShowing(call, hint, rule, shown);
}

function askShowing(
  call: Call,
  hint: string | undefined,
  rule: string | undefined,
  preview: ToolPreview,
): Promise<ElicitationResponse> {
  const { thread } = call;
  const { category } = call.entry?.descriptor.annotations ?? {};
  const mcp = call.entry?.tool?.mcp;
  const { title, locations } = describe(call, argsFor(call));
  return askFor(call, {
    kind: 'tool_confirmation',
    message: hint ?? `${thread.agentId} wants to run ${call.name}`,
    ...(title !== undefined && { title }),
    requestedSchema: APPROVAL_SCHEMA,
    context: {
      toolRequestId: call.requestId,
      tool: call.name,
      args: copyArgs(call.args),
      principalPath: thread.principalPath,
      actionHash: hashOf(call),
      kind: category === 'edit' || category === 'execute' ? category : mcp === undefined ? 'info' : 'mcp',
      ...(mcp !== undefined && { mcp: { ...mcp } }),
      ...(rule !== undefined && { rule }),
      ...(locations !== undefined && { locations }),
      ...preview,
    },
  });
}

const toolKey = (call: Call) => `${call.thread.principalPath}|${call.name}`;
const hashOf = (call: Call) =>
  createHash('sha256')
    .update(`${toolKey(call)}|${canonicalJson(call.args)}`)
    .digest('hex');

/** A person has said "always": to the tool, or to this very action, for this principal path, in this session. */
export function isAlwaysAllowed(call: Call): boolean {
  const { always } = call.thread.tree;
  return always.size > 0 && (always.has(toolKey(call)) || always.has(hashOf(call)));
}

/** Keeps an "always" for the action as it runs, with whatever a person changed in it. */
export function rememberAlways(call: Call, outcome: unknown): void {
  const { always } = call.thread.tree;
  if (outcome === 'proceed_always') always.add(hashOf(call));
  if (outcome === 'proceed_always_tool') always.add(toolKey(call));
}
