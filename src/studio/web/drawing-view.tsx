import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { safeSvg } from './safe-svg.js';

export interface DrawingViewProps {
  /** SVG of the server. */
  readonly source: string;
  readonly label: string;
  /** Brings classes and notes up to date after each drawing: nothing is laid out again. */
  readonly update: (svg: SVGSVGElement) => void;
  readonly onRef?: (ref: string) => void;
}

const LEAST = 0.62;
const STEPS = [0.5, 0.75, 1, 1.25, 1.5, 2];

/** A laid-out picture, as large as there is room or as one wants it. */
export function DrawingView({ source, label, update, onRef }: DrawingViewProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState<number>();
  const svg = useMemo(() => safeSvg(source), [source]);
  const width = Number(svg?.getAttribute('width') ?? 0);
  useLayoutEffect(() => {
    if (svg !== undefined) frame.current?.replaceChildren(svg);
  }, [svg]);
  useLayoutEffect(() => {
    if (svg === undefined) return;
    svg.style.width = zoom === undefined ? '' : `${width * zoom}px`;
    // Smaller it could not be read.
    svg.style.minWidth = zoom === undefined ? `${width * LEAST}px` : '';
    svg.style.maxWidth = zoom === undefined ? `max(${width * LEAST}px, min(100%, ${width * 1.25}px))` : 'none';
    update(svg);
  });
  if (svg === undefined) return <p className="empty">This picture cannot be shown.</p>;
  const near = zoom ?? 1;
  const larger = STEPS.find((step) => step > near);
  const smaller = STEPS.findLast((step) => step < near);
  return (
    <div className="drawing">
      <div className="drawing-tools">
        <button type="button" aria-label="Smaller" disabled={smaller === undefined} onClick={() => setZoom(smaller)}>
          −
        </button>
        <button type="button" aria-label="Larger" disabled={larger === undefined} onClick={() => setZoom(larger)}>
          +
        </button>
        <button type="button" aria-pressed={zoom === undefined} onClick={() => setZoom(undefined)}>
          Fit
        </button>
      </div>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: what a click opens is in the tree of threads as well */}
      <div
        ref={frame}
        className="drawing-frame"
        role="img"
        aria-label={label}
        onClick={({ target }) => {
          const ref = target instanceof Element ? target.closest('[data-ref]')?.getAttribute('data-ref') : undefined;
          if (ref) onRef?.(ref);
        }}
      />
    </div>
  );
}
