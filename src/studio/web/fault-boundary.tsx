import { Component, type ReactNode } from 'react';
import { oneLine } from './clipped.js';

export interface FaultBoundaryProps {
  /** What cannot be shown, as the beginning of a sentence. */
  readonly what: string;
  /** Another one: it is tried again. */
  readonly place: string;
  readonly children: ReactNode;
}

interface FaultState {
  readonly fault: string | undefined;
  readonly place: string;
}

/** A part of the page that cannot be drawn says so in its place; the rest stays. */
export class FaultBoundary extends Component<FaultBoundaryProps, FaultState> {
  override state: FaultState = { fault: undefined, place: this.props.place };

  static getDerivedStateFromError(thrown: unknown): Partial<FaultState> {
    return { fault: thrown instanceof Error ? thrown.message : String(thrown) };
  }

  static getDerivedStateFromProps({ place }: FaultBoundaryProps, before: FaultState): FaultState | null {
    return place === before.place ? null : { fault: undefined, place };
  }

  override render(): ReactNode {
    const { fault } = this.state;
    if (fault === undefined) return this.props.children;
    return (
      <div className="empty large" role="alert">
        <h2>{this.props.what} cannot be shown</h2>
        <p>{oneLine(fault, 500)}</p>
        <p>Choose another view, thread or moment, or load the page again.</p>
      </div>
    );
  }
}
