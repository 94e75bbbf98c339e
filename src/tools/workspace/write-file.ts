import { bytesOf, type EditTool } from './edit-tool.js';
import { quoted } from './refusal.js';
import { count } from './shown-text.js';

interface WriteFileArgs {
  path: string;
  content: string;
}

export const writeFile: EditTool<WriteFileArgs> = {
  name: 'write_file',
  displayName: 'Write file',
  description:
    'Writes a text file of the workspace, whole and exactly as given: a new one with the folders that it needs, or in ' +
    'place of what is there. To change a part of a file, use replace.',
  properties: {
    path: { type: 'string', minLength: 1, description: 'The file, relative to the root of the workspace.' },
    content: { type: 'string', description: 'All of the new content, line ends as they are to be.' },
  },
  required: ['path', 'content'],
  describe: ({ path }) => ({ title: `Write ${path}`, path }),
  plan({ path, before }, { content }) {
    const after = bytesOf(content, 'content');
    const lines = count(content.split('\n').length - (content.endsWith('\n') || content === '' ? 1 : 0), 'line');
    return {
      after,
      said: `${verb(before?.bytes, after)} ${quoted(path)}: ${lines}.${lineEndNote(before?.bytes, after)}`,
      data: {},
    };
  },
};

function verb(before: Buffer | undefined, after: Buffer): string {
  if (before === undefined) return 'Created';
  return before.equals(after) ? 'Left as it was, with the same content,' : 'Wrote';
}

/** Who reads a file is not shown its line ends, and may take them away without knowing. */
function lineEndNote(before: Buffer | undefined, after: Buffer): string {
  const isLost = (before?.includes('\r\n') ?? false) && after.includes('\n') && !after.includes('\r\n');
  return isLost ? ' Its lines ended with CR LF before, and end with LF now.' : '';
}
