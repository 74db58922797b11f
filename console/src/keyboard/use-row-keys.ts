/** `j` and `k` move through the rows of a list, Enter opens the highlighted one. */
import { useEffect, useState } from 'react';
import { useKey } from './shortcuts.tsx';

export interface RowKeys {
  /** The index of the highlighted row; -1: none. */
  readonly marked: number;
  readonly mark: (row: number) => void;
}

/** For lists that render all of their rows. */
function showMarked(): void {
  requestAnimationFrame(() =>
    document.querySelector('#page tr[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }),
  );
}

export function useRowKeys(
  rows: number,
  open: (row: number) => void,
  show: (row: number) => void = showMarked,
): RowKeys {
  const [marked, mark] = useState(-1);
  useEffect(() => {
    if (marked >= rows) mark(rows - 1);
  }, [marked, rows]);
  const go = (row: number) => {
    if (rows === 0) return;
    // From here on Enter opens the row, not the button or link that had the focus.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    const next = Math.min(Math.max(row, 0), rows - 1);
    mark(next);
    show(next);
  };
  useKey('j', 'Next row', () => go(marked + 1));
  useKey('k', 'Previous row', () => go(marked - 1));
  useKey('Enter', 'Open the highlighted row', (event) => {
    const { target } = event;
    // A link or button that has the focus takes precedence.
    if (target instanceof HTMLElement && target.matches('a, button, summary, [role="tab"]')) target.click();
    else if (marked >= 0) open(marked);
  });
  return { marked, mark };
}
