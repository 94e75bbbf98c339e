import { createHash } from 'node:crypto';
import type { Bag, ToolContext, ToolDefinition, ToolPreview, ToolResultData } from '../../contracts/index.js';
import { keepBefore } from './kept-before.js';
import { locateAny, openWorkspace, type Place, type Workspace, withPlainPath } from './place.js';
import { refuseProtected } from './protected-names.js';
import { quoted, refused, WorkspaceRefusal } from './refusal.js';
import { describedAs, descriptorOf, type ToolText } from './tool-text.js';
import { inTurn } from './turns.js';
import { type UnifiedDiff, unifiedDiff } from './unified-diff.js';
import { type FileBefore, MAX_EDITED_BYTES, readWhole, tooLarge, writeInside } from './write-inside.js';

/** A file that an edit is about, as it is. */
export interface Target extends Place {
  /** Absent: there is no such file. */
  readonly before: FileBefore | undefined;
}

/** What an edit would make of its file. */
export interface Change {
  readonly after: Buffer;
  /** For the model, once it is done. */
  readonly said: string;
  readonly data: Bag;
}

export interface EditTool<Args extends { path: string }> extends ToolText {
  describe(args: Args): { title: string; path: string };
  /** Works out the new content; writes nothing. May throw `WorkspaceRefusal`, which becomes an error result. */
  plan(target: Target, args: Args): Change;
}

export interface EditOptions {
  readonly root: string;
  /** Names of files and folders, at any depth, that are not to be changed. */
  readonly protect: readonly string[];
}

type EditContext = Pick<ToolContext, 'signal' | 'sessionId' | 'artifacts'>;

const MAX_DIFF = 64 * 1024;

/**
 * A tool that changes one file below the root. The preview and the edit work alike, save that the preview stops before
 * it writes; the edit looks anew at what is there. It throws for nothing that a call can bring about.
 */
export function editTool<Args extends { path: string }>(options: EditOptions, tool: EditTool<Args>): ToolDefinition {
  return {
    kind: 'tool',
    name: tool.name,
    descriptor: descriptorOf(tool, { category: 'edit', destructive: true }),
    describe: (args: Args) => describedAs(tool.describe(args)),
    plainArgs: (args: unknown) => withPlainPath(options.root, args),
    preview: async (args: Args): Promise<ToolPreview> => {
      try {
        const { target, change } = await prepare(options, tool, args);
        return { diff: wholeMark(target, change) + diffOf(target, change).text };
      } catch (thrown) {
        if (thrown instanceof WorkspaceRefusal) return { problem: thrown.message };
        throw thrown;
      }
    },
    execute: async (args: Args, context: EditContext) => {
      const { signal } = context;
      try {
        signal.throwIfAborted();
        return await edit(options, tool, args, context);
      } catch (thrown) {
        if (signal.aborted) return refused('cancelled', 'The call was cancelled; nothing was written.');
        if (thrown instanceof WorkspaceRefusal) return refused(thrown.errorType, thrown.message);
        throw thrown;
      }
    },
  };
}

async function edit<Args extends { path: string }>(
  options: EditOptions,
  tool: EditTool<Args>,
  args: Args,
  context: EditContext,
): Promise<ToolResultData> {
  const { absolute } = await locateAny(await openWorkspace(options.root), args.path);
  return inTurn(absolute, async () => {
    const { workspace, target, change } = await prepare(options, tool, args);
    const { before } = target;
    const isSame = before?.bytes.equals(change.after) ?? false;
    const writing = { absolute: target.absolute, asked: args.path, bytes: change.after, before };
    const written = isSame ? undefined : await keepBefore(context, before?.bytes, change.after);
    if (!isSame) await writeInside(workspace, writing, context.signal);
    return done(target, change, written);
  });
}

async function prepare<Args extends { path: string }>(options: EditOptions, tool: EditTool<Args>, args: Args) {
  const workspace = await openWorkspace(options.root);
  const target = await readTarget(workspace, options, args.path);
  const change = tool.plan(target, args);
  if (change.after.length > MAX_EDITED_BYTES) throw tooLarge(args.path, change.after.length);
  return { workspace, target, change };
}

async function readTarget(workspace: Workspace, { protect }: EditOptions, asked: string): Promise<Target> {
  const { exists, ...place } = await locateAny(workspace, asked);
  refuseProtected(place.path, protect, asked);
  if (place.path === '.' || /[/\\]\.{0,2}$/.test(asked)) {
    throw new WorkspaceRefusal('execution_failed', `${quoted(asked)} is a folder.`);
  }
  return { ...place, before: exists ? await readWhole(workspace, place.absolute, asked) : undefined };
}

function done(target: Target, change: Change, written: Bag | undefined): ToolResultData {
  const { text, addedLines, removedLines } = diffOf(target, change);
  const { path, before } = target;
  return {
    llmContent: [{ type: 'text', text: change.said }],
    ...(text !== '' && { displayContent: [{ type: 'text', text }] }),
    data: {
      path,
      created: before === undefined,
      bytes: change.after.length,
      addedLines,
      removedLines,
      ...change.data,
      ...(written !== undefined && { written }),
    },
  };
}

function diffOf({ path, before }: Target, { after }: Change): UnifiedDiff {
  if (before?.bytes.includes(0) || after.includes(0)) {
    const isSame = before?.bytes.equals(after) ?? false;
    const text = isSame ? '' : `Binary files a/${path} and b/${path} differ\n`;
    return { text, addedLines: 0, removedLines: 0 };
  }
  const texts = { before: before?.bytes.toString('utf8'), after: after.toString('utf8') };
  return unifiedDiff({ path, ...texts, maxLength: MAX_DIFF });
}

/** Of a change that its diff does not show whole: what it is about, so that another one is not taken for the same. */
function wholeMark({ before }: Target, { after }: Change): string {
  const isShown = (bytes: Buffer) => !bytes.includes(0) && bytes.length < MAX_DIFF / 4;
  if ((before === undefined || isShown(before.bytes)) && isShown(after)) return '';
  return `index ${before === undefined ? 'none' : shortMark(before.bytes)}..${shortMark(after)}\n`;
}

const shortMark = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex').slice(0, 32);

/** Text as bytes. Half a surrogate pair has none, and would be written as something else than was approved. */
export function bytesOf(text: string, name: string): Buffer {
  if (/\p{Surrogate}/u.test(text)) {
    throw new WorkspaceRefusal('invalid_tool_params', `${name} holds half a surrogate pair, which is no character.`);
  }
  return Buffer.from(text, 'utf8');
}
