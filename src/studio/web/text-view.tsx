import { type ReactNode, useState } from 'react';
import { clipText, jsonText, LONG_JSON, SHORT_JSON } from './clipped.js';
import { countText } from './figures.js';

const MORE = 200_000;

/** Text of any origin: as text, cut, with a way to see the rest. */
export function TextView({ text, most = 6_000, className = '' }: TextViewProps): ReactNode {
  const [limit, setLimit] = useState(most);
  const { shown, rest } = clipText(text, limit);
  return (
    <div className={`text ${className}`} dir="auto">
      {shown}
      {rest > 0 && <More rest={`${countText(rest)} characters`} onMore={() => setLimit(limit + MORE)} />}
    </div>
  );
}

interface TextViewProps {
  readonly text: string;
  readonly most?: number;
  readonly className?: string;
}

export function More({ rest, onMore }: { readonly rest: string; readonly onMore: () => void }): ReactNode {
  return (
    <button type="button" className="more" onClick={onMore}>
      Show more: {rest}
    </button>
  );
}

/** Any JSON value, as far as it is reasonable. */
export function JsonView({ value }: { readonly value: unknown }): ReactNode {
  const [isLong, setLong] = useState(false);
  const { text, isWhole } = jsonText(value, isLong ? LONG_JSON : SHORT_JSON);
  return (
    <div className="text code">
      {text}
      {!isWhole && !isLong && <More rest="deeper and longer values" onMore={() => setLong(true)} />}
      {!isWhole && isLong && <span className="quiet"> What is deeper or longer still is in the log.</span>}
    </div>
  );
}

const LINES = 300;

/** A unified diff. */
export function DiffView({ diff }: { readonly diff: string }): ReactNode {
  const [most, setMost] = useState(LINES);
  const { shown, rest } = clipText(diff, most * 400);
  const lines = shown.split('\n');
  const toneOf = (line: string) =>
    line.startsWith('@@')
      ? 'hunk'
      : /^(\+\+\+|---|diff |index )/.test(line)
        ? 'file'
        : line.startsWith('+')
          ? 'added'
          : line.startsWith('-')
            ? 'removed'
            : '';
  return (
    <div className="diff">
      {lines.slice(0, most).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its place
        <div key={at} className={toneOf(line)}>
          {line === '' ? ' ' : line.slice(0, 2_000)}
        </div>
      ))}
      {(lines.length > most || rest > 0) && (
        <More rest={`${Math.max(0, lines.length - most)} lines`} onMore={() => setMost(most * 8)} />
      )}
    </div>
  );
}

/** Whether a text reads as a unified diff. */
export const isDiff = (text: string): boolean =>
  /^(diff --git |--- )/m.test(text.slice(0, 500)) && /^@@ /m.test(text.slice(0, 4_000));
