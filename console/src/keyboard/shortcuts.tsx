/**
 * Page-wide keyboard shortcuts. Each mounted component registers its own; the newest wins, and the help lists them.
 * While the focus is in an input, only keys with Ctrl work.
 */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react';

interface Shortcut {
  readonly key: string;
  readonly what: string;
  readonly run: (event: KeyboardEvent) => void;
}

interface Shortcuts {
  add(shortcut: Shortcut): () => void;
  all(): readonly Shortcut[];
}

const ShortcutContext = createContext<Shortcuts | null>(null);

export function ShortcutProvider({ children }: { children: ReactNode }) {
  const registered = useRef<Shortcut[]>([]);
  const [shortcuts] = useState<Shortcuts>(() => ({
    add(shortcut) {
      registered.current = [shortcut, ...registered.current];
      return () => {
        registered.current = registered.current.filter((known) => known !== shortcut);
      };
    },
    all: () => registered.current,
  }));
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const name = nameOf(event);
      if (name === null || (isTyping(event) && !name.startsWith('Ctrl-'))) return;
      // An open dialog handles its own keys.
      if (document.querySelector('dialog[open]')) return;
      const found = registered.current.find(({ key }) => key === name);
      if (!found) return;
      event.preventDefault();
      found.run(event);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return <ShortcutContext value={shortcuts}>{children}</ShortcutContext>;
}

function nameOf(event: KeyboardEvent): string | null {
  if (event.altKey || event.isComposing) return null;
  const key =
    event.key.length === 1 && (event.ctrlKey || event.metaKey) ? event.key.toUpperCase() : event.key;
  return event.ctrlKey || event.metaKey ? `Ctrl-${key}` : key;
}

function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}

export function useShortcuts(): Shortcuts {
  const shortcuts = useContext(ShortcutContext);
  if (!shortcuts) throw new Error('used outside of ShortcutProvider');
  return shortcuts;
}

/** Runs when the key is pressed while the component is mounted. */
export function useKey(key: string, what: string, run: (event: KeyboardEvent) => void): void {
  const shortcuts = useShortcuts();
  const latest = useRef(run);
  latest.current = run;
  useEffect(
    () => shortcuts.add({ key, what, run: (event) => latest.current(event) }),
    [shortcuts, key, what],
  );
}

/** The open state of something that both a key and a button open. */
export function useShortcut(key: string, what: string) {
  const [pressed, setPressed] = useState(false);
  const press = useCallback(() => setPressed(true), []);
  const release = useCallback(() => setPressed(false), []);
  useKey(key, what, press);
  return { pressed, press, release };
}
