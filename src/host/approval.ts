import { createHash } from 'node:crypto';
import type { ElicitationAnswer, ElicitationResponse, JsonSchema, ToolPreview } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { canonicalJson } from '../kernel/json-value.js';
import type { PolicyRule } from '../kernel/policy-rules.js';
import { alwaysKey, serverKey, toolKey } from './always.js';
import { notice, publish } from './session-tree.js';
import { argsFor, copyArgs } from './tool-args.js';
import { askFor, type Call, describe, signal } from './tool-call.js';
import { evaluate, offerRules } from './tool-policy.js';
import { previewOf } from './tool-preview.js';

/** Why a person is asked, and what of it is known beside the call itself. */
export interface ApprovalReason {
  readonly hint?: string | undefined;
  readonly rule?: string | undefined;
  /** What a command line would run. */
  readonly commands?: readonly string[] | undefined;
}

/** What the approval may be answered with. */
interface Offer {
  readonly server: boolean;
  /** What "always and save" would write. */
  readonly rules: readonly PolicyRule[] | undefined;
}

const SCHEMAS = new Map<string, JsonSchema>();

function schemaFor({ server, rules }: Offer): JsonSchema {
  const key = `${server}${rules !== undefined}`;
  let schema = SCHEMAS.get(key);
  if (schema === undefined) {
    const outcomes = ['proceed_once', 'proceed_always', 'proceed_always_tool'];
    if (server) outcomes.push('proceed_always_server');
    if (rules !== undefined) outcomes.push('proceed_always_and_save');
    schema = {
      type: 'object',
      properties: {
        outcome: { enum: [...outcomes, 'modify', 'cancel'], default: 'proceed_once' },
        modifiedArgs: { type: 'object' },
      },
    };
    SCHEMAS.set(key, schema);
  }
  return schema;
}

/** How often an answer may come too late for what it is about. */
const MAX_VOID = 3;

/**
 * Asks whether exactly this may run: who, which tool, with which arguments, to change what was shown. An answer that
 * comes when it would change something else is void: the question is asked again, and at the fourth time given up.
 */
export async function askApproval(call: Call, reason: ApprovalReason): Promise<ElicitationResponse> {
  call.stage = 'asking';
  signal(call, 'call.asked');
  publish(call.thread, { type: 'tool_update', requestId: call.requestId, status: 'awaiting_approval' });
  let shown = previewOf(call);
  let followUpTo: string | undefined;
  for (let voided = 0; ; voided++) {
    const saved = offerRules(call);
    const isKnown = saved === undefined && !(shown instanceof Promise);
    const [preview, rules] = isKnown ? [shown as ToolPreview] : await Promise.all([shown, saved]);
    const revision = call.entry?.tool?.revision?.();
    const { answer, seen } = await askShowing(call, { ...reason, followUpTo }, preview, rules);
    if (answer.action !== 'accept') return answer;
    const isOther = revision !== call.entry?.tool?.revision?.();
    if (!isOther) {
      if (call.entry?.tool?.preview === undefined) return answer;
      shown = await previewOf(call);
      call.shown = shown;
      if (isSameChange(seen, shown)) return answer;
    }
    if (call.stage !== 'asking' || call.run.stop !== undefined) return answer;
    const text = isOther
      ? `the tool ${call.name} says of itself what it did not when it was asked about`
      : otherChange(call);
    if (voided === MAX_VOID) return { ...answer, action: 'cancel', _meta: { reason: text } };
    tellVoid(call, text);
    followUpTo = answer.requestId;
  }
}

const otherChange = ({ name }: Call) => `what ${name} would change is not what was shown any more`;

const tellVoid = ({ thread }: Call, why: string) =>
  notice(thread, 'APPROVAL_VOID', 'warning', `${why}: the answer is void, and the question is asked again`);

/** Whether a call that was approved, and has waited since, would still change what it would have changed then. */
export async function isStillApproved(call: Call): Promise<boolean> {
  if (call.shown === undefined || isSameChange(call.shown, await previewOf(call))) return true;
  call.isApproved = false;
  if (!isAlwaysAllowed(call)) tellVoid(call, otherChange(call));
  return false;
}

/** Where in its file a change stands is no part of it. */
const ofChange = (diff: unknown) => (typeof diff === 'string' ? diff.replace(/^@@ .*$/gm, '@@') : undefined);

const isSameChange = (seen: ToolPreview, now: ToolPreview): boolean =>
  seen.problem === now.problem && ofChange(seen.diff) === ofChange(now.diff);

/** The answer, and what was shown: for a question of before a restart, what was shown then. */
async function askShowing(
  call: Call,
  { hint, rule, commands, followUpTo }: ApprovalReason & { followUpTo: string | undefined },
  preview: ToolPreview,
  rules: readonly PolicyRule[] | undefined,
): Promise<{ answer: ElicitationResponse; seen: ToolPreview }> {
  const { thread } = call;
  const { mcp, revision } = call.entry?.tool ?? {};
  const { title, locations } = describe(call, argsFor(call));
  let seen: ToolPreview = preview;
  const answer = await askFor(
    call,
    {
      kind: 'tool_confirmation',
      ...(followUpTo !== undefined && { followUpTo }),
      message: hint ?? `${thread.agentId} wants to run ${call.name}`,
      ...(title !== undefined && { title }),
      requestedSchema: schemaFor({ server: mcp !== undefined, rules }),
      context: {
        toolRequestId: call.requestId,
        tool: call.name,
        args: copyArgs(call.args),
        principalPath: thread.principalPath,
        actionHash: hashOf(call),
        kind: kindOf(call, commands),
        ...(mcp !== undefined && { mcp: { ...mcp, ...(revision !== undefined && { revision: revision() }) } }),
        ...(rule !== undefined && { rule }),
        ...(commands !== undefined && { commands: [...commands] }),
        ...(locations !== undefined && { locations }),
        ...(rules !== undefined && { savedRules: rules }),
        ...preview,
      },
    },
    changeFaults,
    ({ request: { context = {} } }) => {
      seen = context;
    },
  );
  return { answer, seen };
}

/** By what a person has to look at: a change of files, commands, a foreign server, or nothing of these. */
function kindOf({ entry }: Call, commands: readonly string[] | undefined): string {
  if (entry?.tool?.mcp !== undefined) return 'mcp';
  const { category } = entry?.descriptor.annotations ?? {};
  if (category === 'execute' || commands !== undefined) return 'execute';
  return category === 'edit' ? 'edit' : 'info';
}

/** What the schema cannot say: a change needs something that is changed. */
function changeFaults({ action, content }: ElicitationAnswer): string[] {
  const isBare = action === 'accept' && content?.outcome === 'modify' && content.modifiedArgs === undefined;
  return isBare ? ['the outcome "modify" needs modifiedArgs, all of the arguments as they are to be'] : [];
}

const approvedBy = (call: Call) => ({
  principalPath: call.thread.principalPath,
  tool: call.name,
  server: call.entry?.tool?.mcp?.server,
  revision: call.entry?.tool?.revision?.(),
});

const hashOf = (call: Call) =>
  createHash('sha256')
    .update(`${toolKey(approvedBy(call))}|${canonicalJson(call.args)}`)
    .digest('hex');

/** A person has said "always": to the tool, its server, or this very action, for this principal path, in this session. */
export function isAlwaysAllowed(call: Call): boolean {
  const { always } = call.thread.tree;
  if (always.size === 0) return false;
  const approved = approvedBy(call);
  const { principalPath, server } = approved;
  if (server !== undefined && always.has(serverKey(principalPath, server))) return true;
  return always.has(toolKey(approved)) || always.has(hashOf(call));
}

/** Keeps an "always" for the action as it runs, with whatever a person changed in it. */
export async function rememberAlways(call: Call, outcome: unknown): Promise<void> {
  const key = alwaysKey(outcome, { ...approvedBy(call), actionHash: hashOf(call) });
  if (key !== undefined) call.thread.tree.always.add(key);
  if (outcome === 'proceed_always_and_save') await save(call);
}

/** What cannot be kept holds for this session all the same, and a person is told. */
async function save(call: Call): Promise<void> {
  const { thread } = call;
  const saved = thread.tree.host.savedRules;
  const tell = (code: string, why: string) => notice(thread, code, 'warning', `"always" for ${call.name} ${why}`);
  try {
    const rules = await offerRules(call);
    if (saved === undefined || rules === undefined) {
      return tell('RULE_NOT_SAVED', 'holds for this session only: no rule can say what it is about');
    }
    await saved.save(rules);
    const { outcome, rule } = await evaluate(call);
    if (outcome === 'ask_user') tell('RULE_OUTRANKED', `is saved, but ${rule ?? 'something else'} asks all the same`);
  } catch (thrown) {
    tell('RULE_NOT_SAVED', `holds for this session only: ${describeError(thrown).message}`);
  }
}
