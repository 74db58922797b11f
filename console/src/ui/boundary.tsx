/**
 * Keeps what breaks to its own page: the rest of the console stays, and says what to do. A page whose file is not there
 * any more, because the server has been updated since, is fetched anew with the whole console.
 */
import { Component, type ReactNode } from 'react';
import { Button } from './button.tsx';

const RELOADED = 'ingot.reloaded-at';
/** Once in this time: a file that is really missing must not reload for ever. */
const RELOAD_AGAIN_MS = 60_000;

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | null;
}

export class Boundary extends Component<Props, State> {
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
          {isMissingFile(error)
            ? 'This page could not be fetched'
            : 'This page has a fault and can’t be shown'}
        </strong>
        <span>{error.message}</span>
        <span>
          Nothing that you started is lost: the server goes on with it. Reload, or open another page.
        </span>
        <Button onClick={() => location.reload()}>Reload</Button>
      </div>
    );
  }
}

function isMissingFile({ message }: Error): boolean {
  return /dynamically imported module|Importing a module script failed|preload CSS/i.test(message);
}
