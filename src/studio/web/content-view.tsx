import type { ReactNode } from 'react';
import type { OpenContentPart } from '../../contracts/index.js';
import { imageSource, oneLine } from './clipped.js';
import { countText } from './figures.js';
import { DiffView, isDiff, JsonView, TextView } from './text-view.js';

const PARTS = 200;

export interface ContentViewProps {
  readonly parts: readonly OpenContentPart[];
  /** Characters of a text that are shown at first. */
  readonly most?: number;
}

/** Parts of a message or of a result. Addresses in them are shown and lead nowhere. */
export function ContentView({ parts, most = 6_000 }: ContentViewProps): ReactNode {
  return (
    <>
      {parts.slice(0, PARTS).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts only ever come at the end
        <PartView key={at} part={part} most={most} />
      ))}
      {parts.length > PARTS && <p className="quiet">{parts.length - PARTS} more parts are in the log.</p>}
    </>
  );
}

const MOST_DATA = 100_000;

/** Data that stands in a text: an agent's typed input or output. */
function dataIn(text: string): object | undefined {
  if (text.length > MOST_DATA || !/^\s*\{[\s\S]*\}\s*$/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

function PartView({ part, most }: { readonly part: OpenContentPart; readonly most: number }): ReactNode {
  switch (part.type) {
    case 'text':
    case 'refusal': {
      const text = asText(part.text);
      const data = dataIn(text);
      if (data !== undefined) return <JsonView value={data} />;
      return isDiff(text) ? <DiffView diff={text} /> : <TextView text={text} most={most} className={part.type} />;
    }
    case 'thought':
      return (
        <details className="thought">
          <summary>Thought · {countText(asText(part.thought).length)} characters</summary>
          <TextView text={asText(part.thought)} />
        </details>
      );
    case 'code':
      return <TextView text={asText(part.code)} className="code" />;
    case 'code_result':
      return <TextView text={asText(part.output)} className="code" />;
    case 'media':
      return <MediaView mimeType={asText(part.mimeType)} data={part.data} uri={part.uri} />;
    case 'reference':
      return (
        <div className="reference">
          <TextView text={asText(part.text)} most={1_000} />
          {part.uri !== undefined && <span className="code">{oneLine(asText(part.uri), 400)}</span>}
        </div>
      );
    default:
      return (
        <details className="thought">
          <summary>{oneLine(asText(part.type), 60)}</summary>
          <JsonView value={part} />
        </details>
      );
  }
}

function MediaView({ mimeType, data, uri }: { mimeType: string; data: unknown; uri: unknown }): ReactNode {
  const text = typeof data === 'string' ? data : undefined;
  const source = imageSource(mimeType, text);
  const size = text === undefined ? '' : ` · ${countText(Math.ceil(text.length * 0.75))} bytes`;
  return (
    <figure className="media">
      {source !== undefined && <img src={source} alt="" loading="lazy" />}
      <figcaption>
        {oneLine(mimeType, 80)}
        {size}
        {typeof uri === 'string' && <span className="code"> {oneLine(uri, 400)}</span>}
      </figcaption>
    </figure>
  );
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : String(JSON.stringify(value) ?? ''));
