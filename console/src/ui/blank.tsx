/** Empty, failed and loading states, each with what to do next. */
import type { ReactNode } from 'react';
import { failureOf } from '../api/failure.ts';
import { Button } from './button.tsx';

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="blank">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Failed({ what, error, onRetry }: { what: string; error: unknown; onRetry?: () => void }) {
  const { message, advice } = failureOf(error);
  return (
    <div className="blank" role="alert">
      <strong>{what}</strong>
      <span>{message}</span>
      {advice && <span>{advice}</span>}
      {onRetry && <Button onClick={onRetry}>Retry</Button>}
    </div>
  );
}

/** Reserves the space of what is being loaded, so that nothing jumps when it arrives. */
export function Loading({ lines = 3 }: { lines?: number }) {
  return (
    <div className="blank" aria-busy="true">
      <span className="visually-hidden">Loading</span>
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are identical
        <span key={line} className="skeleton" style={{ width: `${320 - (line % 3) * 60}px` }} />
      ))}
    </div>
  );
}
