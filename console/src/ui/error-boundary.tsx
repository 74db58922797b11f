/**
 * Contains an error to its own page: the rest of the console keeps working. When the file of a page is missing because
 * the server was updated since this tab was opened, the whole console reloads once.
 */
import { Component, type ReactNode } from 'react';
import { Button } from './button.tsx';

const RELOADED = 'ingot.reloaded-at';
/** At most one reload in this time: a file that is really missing must not cause a reload loop. */
const RELOAD_AGAIN_MS = 60_000;

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | null;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidCatch(error: Error): void {
    if (!isMissingFile(error)) return;
    if (Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0) < RELOAD_AGAIN_MS) return;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="blank" role="alert">
        <strong>
          {isMissingFile(error) ? 'Failed to load this page' : 'Something went wrong on this page'}
        </strong>
        <span>{error.message}</span>
        <span>Operations on the server are not affected. Reload, or open another page.</span>
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    );
  }
}

function isMissingFile({ message }: Error): boolean {
  return /dynamically imported module|Importing a module script failed|preload CSS/i.test(message);
}
