import type { Bag, ElicitationRequest } from '../../contracts/index.js';

export interface Approval {
  readonly tool: string;
  readonly args: unknown;
  /** Agent names from the root down. */
  readonly principalPath: string | undefined;
  readonly rule: string | undefined;
  readonly commands: readonly string[];
  readonly diff: string | undefined;
  /** What else may be answered beside once and no, with words for it. */
  readonly more: readonly { readonly outcome: string; readonly label: string }[];
  readonly canChange: boolean;
  /** What "always and save" would write. */
  readonly savedRules: unknown;
}

const LABELS: Readonly<Record<string, string>> = {
  proceed_always: 'Always this, in this session',
  proceed_always_tool: 'Always this tool, in this session',
  proceed_always_server: 'Always this server, in this session',
  proceed_always_and_save: 'Always, and save it as a rule',
};

/** What a person must see before saying yes. */
export function approvalOf({ requestedSchema, context = {} }: ElicitationRequest): Approval {
  const outcomes = outcomesIn(requestedSchema);
  return {
    tool: textOf(context.tool) ?? 'a tool',
    args: context.args,
    principalPath: textOf(context.principalPath),
    rule: textOf(context.rule),
    commands: Array.isArray(context.commands) ? context.commands.map(String) : [],
    diff: textOf(context.diff),
    more: outcomes
      .filter((outcome) => Object.hasOwn(LABELS, outcome))
      .map((outcome) => ({ outcome, label: LABELS[outcome] ?? outcome })),
    canChange: outcomes.includes('modify'),
    savedRules: context.savedRules,
  };
}

function outcomesIn(schema: unknown): string[] {
  const { properties } = (schema ?? {}) as { properties?: { outcome?: { enum?: unknown } } };
  const listed = properties?.outcome?.enum;
  return Array.isArray(listed) ? listed.filter((one) => typeof one === 'string') : [];
}

const textOf = (value: Bag[string]): string | undefined => (typeof value === 'string' ? value : undefined);
