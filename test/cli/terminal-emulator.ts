import { displayWidth } from '../../src/cli/text-width.js';

const esc = '\u001b';
const pieceEnds = new RegExp(`(${esc}\\[[?\\d]*[A-Za-z]|\\n|\\r)`);
const cursorUp = new RegExp(`^${esc}\\[(\\d+)A$`);

export interface EmulatedTerminal {
  write(text: string): void;
  /** What stands on the screen, without empty lines at the end. */
  lines(): string[];
  /** Rewraps what is there, as a terminal does. */
  resize(columns: number): void;
  readonly columns: number;
  readonly rows: number;
  /** Lines that have left the screen at its top. */
  readonly scrolled: number;
}

/** As much of a terminal as the tree uses: text, line ends, cursor up, erase below, hide and show the cursor. */
export function emulateTerminal(size: { columns: number; rows: number }): EmulatedTerminal {
  let { columns } = size;
  let screen: string[] = [''];
  let row = 0;
  let scrolled = 0;

  const newLine = () => {
    row++;
    screen[row] ??= '';
    if (screen.length > size.rows) {
      screen.shift();
      row--;
      scrolled++;
    }
  };

  return {
    write(text) {
      const pieces = text.split(pieceEnds);
      for (const piece of pieces) {
        const up = cursorUp.exec(piece)?.[1];
        if (piece === '\n') newLine();
        else if (up !== undefined) row = Math.max(0, row - Number(up));
        else if (piece === '\u001b[0J') screen = [...screen.slice(0, row), ''];
        else if (piece === '\r' || piece.startsWith('\u001b[?25')) continue;
        else if (piece.startsWith('\u001b')) throw new Error(`unknown sequence ${JSON.stringify(piece)}`);
        else screen[row] += piece;
        if (displayWidth(screen[row] ?? '') > columns) throw new Error(`wider than the screen: ${screen[row]}`);
      }
    },
    lines() {
      const last = screen.findLastIndex((line) => line.trim() !== '');
      return screen.slice(0, last + 1);
    },
    resize(next) {
      columns = next;
      const before = screen.slice(0, row);
      const wrapped = before.flatMap((line) => line.match(new RegExp(`.{1,${next}}`, 'gu')) ?? ['']);
      row = wrapped.length;
      screen = [...wrapped, ''];
    },
    get columns() {
      return columns;
    },
    rows: size.rows,
    get scrolled() {
      return scrolled;
    },
  };
}
