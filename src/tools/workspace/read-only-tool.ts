import type { Bag, JsonSchema, ToolContext, ToolDefinition, ToolResultData } from '../../contracts/index.js';
import { openWorkspace, type Workspace } from './place.js';
import { refused, WorkspaceRefusal } from './refusal.js';

export interface ReadOnlyTool<Args> {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly category: 'read' | 'search';
  /** Properties of the arguments. No others are taken. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  /** For a person: what the call is about, and where. */
  describe(args: Args): { title: string; path?: string; line?: number };
  /** May throw `WorkspaceRefusal`, which becomes an error result. */
  run(workspace: Workspace, args: Args, signal: AbortSignal): Promise<ToolResultData>;
}

/** A tool over the files below `root`. It throws for nothing that a call can bring about, save faults of its own. */
export function readOnlyTool<Args>(root: string, tool: ReadOnlyTool<Args>): ToolDefinition {
  return {
    kind: 'tool',
    name: tool.name,
    descriptor: {
      name: tool.name,
      displayName: tool.displayName,
      description: tool.description,
      parametersSchema: {
        type: 'object',
        properties: tool.properties,
        required: tool.required,
        additionalProperties: false,
      },
      annotations: { readOnly: true, category: tool.category },
    },
    describe: (args: Args) => {
      const { title, path, line } = tool.describe(args);
      if (path === undefined) return { title };
      return { title, locations: [line === undefined ? { path } : { path, line }] };
    },
    execute: async (args: Args, { signal }: Pick<ToolContext, 'signal'>) => {
      try {
        signal.throwIfAborted();
        return await tool.run(await openWorkspace(root), args, signal);
      } catch (thrown) {
        if (signal.aborted) return refused('cancelled', 'The call was cancelled.');
        if (thrown instanceof WorkspaceRefusal) return refused(thrown.errorType, thrown.message);
        throw thrown;
      }
    },
  };
}

/** The answer and, as a part of its own, what it leaves out: a program that wants the text alone takes the first part. */
export function answer(text: string, notes: readonly string[], data: Bag): ToolResultData {
  const parts = notes.length > 0 ? [text, `[${notes.join(' ')}]`] : [text];
  return { llmContent: parts.map((part) => ({ type: 'text', text: part })), data };
}
