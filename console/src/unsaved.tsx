/**
 * Edits that are not saved. Leaving the page asks first, whatever the way: a link, the back button, closing the tab. A change of
 * the query alone, such as a filter, does not leave the page.
 */
import { type ReactNode, useEffect, useState, useSyncExternalStore } from 'react';
import { Router } from 'wouter';
import { Button } from './ui/button.tsx';
import { Dialog } from './ui/dialog.tsx';

type Navigate = NonNullable<Parameters<typeof Router>[0]['aroundNav']>;

const unsaved = new Set<symbol>();
const listeners = new Set<() => void>();
/** How the user wanted to leave; null: nothing to ask. */
let leaving: (() => void) | null = null;
let shownHref = location.href;
let isLeaving = false;

function ask(leave: () => void): void {
  leaving = leave;
  for (const notify of listeners) notify();
}

function answer(decision: 'leave' | 'stay'): void {
  const leave = leaving;
  leaving = null;
  if (decision === 'leave') {
    unsaved.clear();
    leave?.();
  }
  for (const notify of listeners) notify();
}

function leavesPage(href: string): boolean {
  return new URL(href, location.href).pathname !== new URL(shownHref).pathname;
}

const aroundNav: Navigate = (navigate, to, options) => {
  const go = () => {
    navigate(to, options);
    shownHref = location.href;
  };
  if (unsaved.size > 0 && leavesPage(to)) ask(go);
  else go();
};

// Registered before the router's own listener, so that the router does not see a step that is not taken.
window.addEventListener('popstate', (event) => {
  if (isLeaving || unsaved.size === 0 || !leavesPage(location.href)) {
    isLeaving = false;
    shownHref = location.href;
    return;
  }
  event.stopImmediatePropagation();
  history.pushState(null, '', shownHref);
  ask(() => {
    isLeaving = true;
    history.back();
  });
});

window.addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0) event.preventDefault();
});

/** The page has edits that leaving it would lose. */
export function useUnsaved(state: 'unsaved' | 'saved'): void {
  const [key] = useState(() => Symbol('unsaved'));
  useEffect(() => {
    if (state === 'saved') return;
    unsaved.add(key);
    return () => void unsaved.delete(key);
  }, [key, state]);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function GuardedRouter({ children }: { children: ReactNode }) {
  const asked = useSyncExternalStore(subscribe, () => leaving !== null);
  return (
    <Router aroundNav={aroundNav}>
      {children}
      {asked && (
        <Dialog
          title="Discard your changes?"
          onClose={() => answer('stay')}
          foot={
            <>
              <Button autoFocus onClick={() => answer('stay')}>
                Keep editing
              </Button>
              <Button kind="danger" onClick={() => answer('leave')}>
                Discard changes
              </Button>
            </>
          }
        >
          <p>This page has changes that are not saved.</p>
        </Dialog>
      )}
    </Router>
  );
}
