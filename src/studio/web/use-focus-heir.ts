import { type FocusEvent, type RefObject, useLayoutEffect, useRef } from 'react';

/**
 * Whoever works by keyboard goes on near where they were: when an element goes away that had the focus, `heir` gets it.
 * A button that is disabled while it works has lost it by then, to nobody: that counts too. To be spread on the element.
 */
export function useFocusHeir(heir: (element: HTMLElement) => HTMLElement | null): {
  readonly ref: RefObject<HTMLElement | null>;
  onFocus(): void;
  onBlur(event: FocusEvent): void;
} {
  const ref = useRef<HTMLElement>(null);
  const hadFocus = useRef(false);
  const find = useRef(heir);
  useLayoutEffect(() => {
    const { current } = ref;
    return () => {
      const { activeElement } = document;
      const isNobodys = activeElement === null || activeElement === document.body || current?.contains(activeElement);
      if (current !== null && hadFocus.current && isNobodys) find.current(current)?.focus({ preventScroll: true });
    };
  }, []);
  return {
    ref,
    onFocus() {
      hadFocus.current = true;
    },
    onBlur({ relatedTarget }) {
      if (relatedTarget !== null && ref.current?.contains(relatedTarget) !== true) hadFocus.current = false;
    },
  };
}
