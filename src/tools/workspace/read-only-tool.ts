import type { Bag, ToolContext, ToolDefinition, ToolResultData } from '../../contracts/index.js';
import { openWorkspace, type Workspace, withPlainPath } from './place.js';
import { refused, WorkspaceRefusal } from './refusal.js';
import { describedAs, descriptorOf, type ToolText } from './tool-text.js';

export interface ReadOnlyTool<Args> extends ToolText {
  readonly category: 'read' | 'search';
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
    descriptor: descriptorOf(tool, { readOnly: true, category: tool.category }),
    describe: (args: Args) => describedAs(tool.describe(args)),
    plainArgs: (args: unknown) => withPlainPath(root, args),
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
