/** Short messages about the user's last action, announced by screen readers. Success disappears by itself; a failure stays. */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from 'react';
import type { Tone } from '../../../src/domain/tone.ts';
import { failureOf } from '../api/failure.ts';
import { Button } from './button.tsx';

interface Toast {
  readonly id: number;
  readonly tone: Tone;
  readonly text: ReactNode;
}

interface Toasts {
  readonly notify: (text: ReactNode) => void;
  readonly notifyFailure: (what: string, error: unknown) => void;
}

const ToastContext = createContext<Toasts | null>(null);
const SHOWN_MS = 6_000;

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const next = useRef(0);
  const drop = useCallback(
    (id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)),
    [],
  );
  const add = useCallback((tone: Tone, text: ReactNode) => {
    next.current += 1;
    const id = next.current;
    setToasts((shown) => [...shown.slice(-3), { id, tone, text }]);
    return id;
  }, []);
  const value = useMemo<Toasts>(
    () => ({
      notify: (text) => {
        const id = add('green', text);
        setTimeout(() => drop(id), SHOWN_MS);
      },
      notifyFailure: (what, error) => {
        const { message, advice } = failureOf(error);
        add('red', `${what}: ${message}${advice ? ` ${advice}` : ''}`);
      },
    }),
    [add, drop],
  );
  return (
    <ToastContext value={value}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {toasts.map(({ id, tone, text }) => (
          <div key={id} className={`toast tone-${tone}`}>
            <div className="text">{text}</div>
            <Button kind="quiet" label="Dismiss" onClick={() => drop(id)}>
              ×
            </Button>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}

export function useToasts(): Toasts {
  const toasts = useContext(ToastContext);
  if (!toasts) throw new Error('used outside of ToastProvider');
  return toasts;
}
