/**
 * Contains an error to its own page: the rest of the console keeps working. When the file of a page is missing because
 * the server was updated since this tab was opened, the whole console reloads once. Where the server is away, that waits until it
 * responds: a reload before then would end on the browser's own error page.
 */
import { Component, type ReactNode } from 'react';
import { sleep } from '../../../src/time/sleep.ts';
import { Button } from './button.tsx';

const RELOADED = 'ingot.reloaded-at';
/** At most one reload in this time: a file that is really missing must not cause a reload loop. */
const RELOAD_AGAIN_MS = 60_000;
const ASK_AGAIN_MS = 2_000;

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | null;
  readonly isServerAway: boolean;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null, isServerAway: false };
  readonly #gone = new AbortController();

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidCatch(error: Error): void {
    if (!isMissingFile(error)) return;
    void this.#reload(this.#gone.signal);
  }

  override componentWillUnmount(): void {
    this.#gone.abort();
  }

  async #reload(gone: AbortSignal): Promise<void> {
    while (!(await responds())) {
      if (gone.aborted) return;
      this.setState({ isServerAway: true });
      await sleep(ASK_AGAIN_MS, gone);
    }
    if (gone.aborted) return;
    const isAgain = Date.now() - Number(sessionStorage.getItem(RELOADED) ?? 0) < RELOAD_AGAIN_MS;
    if (isAgain && !this.state.isServerAway) return;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
  }

  override render(): ReactNode {
    const { error, isServerAway } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="blank" role="alert">
        <strong>
          {isMissingFile(error) ? 'Failed to load this page' : 'Something went wrong on this page'}
        </strong>
        <span>{error.message}</span>
        {isServerAway ? (
          <span>This page opens when the server responds again.</span>
        ) : (
          <>
            <span>Operations on the server are not affected. Reload, or open another page.</span>
            <Button onClick={() => location.reload()}>Reload</Button>
          </>
        )}
      </div>
    );
  }
}

function isMissingFile({ message }: Error): boolean {
  return /dynamically imported module|Importing a module script failed|preload CSS/i.test(message);
}

async function responds(): Promise<boolean> {
  try {
    return (await fetch('/healthz', { cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}
