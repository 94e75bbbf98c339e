import { type ReactNode, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { safeSvg } from './safe-svg.js';

export interface DrawingViewProps {
  /** SVG of the server. */
  readonly source: string;
  readonly label: string;
  /** Brings classes and notes up to date after each drawing: nothing is laid out again. */
  readonly update: (svg: SVGSVGElement) => void;
  readonly onRef?: (ref: string) => void;
}

const LEAST = 0.56;
const MOST = 1.25;
const STEPS = [0.5, 0.75, 1, 1.25, 1.5, 2];

/** A laid-out picture, as large as there is room or as one wants it. */
export function DrawingView({ source, label, update, onRef }: DrawingViewProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState<number>();
  const svg = useMemo(() => safeSvg(source), [source]);
  const [room, setRoom] = useState({ width: 0, height: 0 });
  const width = Number(svg?.getAttribute('width') ?? 0);
  const height = Number(svg?.getAttribute('height') ?? 0);
  useLayoutEffect(() => {
    if (svg !== undefined) frame.current?.replaceChildren(svg);
  }, [svg]);
  useLayoutEffect(() => {
    if (svg === undefined || room.width <= 0) return;
    // Smaller it could not be read: then it is as wide as there is room, and goes on below.
    const fitting = Math.min(MOST, room.width / width, room.height / height);
    const wide = Math.max(LEAST, Math.min(1, room.width / width));
    const size = `${width * (zoom ?? (fitting >= LEAST ? fitting : wide))}px`;
    if (svg.style.width !== size) {
      svg.style.width = size;
      // What is lit stands elsewhere now: it is brought into sight like news.
      for (const lit of svg.querySelectorAll('.lit')) lit.classList.remove('lit');
    }
    update(svg);
  });
  useEffect(() => {
    const { current } = frame;
    if (current === null || svg === undefined) return;
    const observer = new ResizeObserver(() => {
      const style = getComputedStyle(current);
      const padding = Number.parseFloat(style.paddingLeft) * 2;
      setRoom({ width: current.clientWidth - padding, height: current.clientHeight - padding });
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, [svg]);
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
