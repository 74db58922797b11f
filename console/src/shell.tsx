/** What surrounds every page: where one is, whether what is shown is true, and who one is. */
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useIdentity } from './identity.tsx';
import { Palette } from './keyboard/palette.tsx';
import { ShortcutHelp } from './keyboard/shortcut-help.tsx';
import { useShortcut } from './keyboard/shortcuts.tsx';
import { useLiveStatus } from './live/live.tsx';
import { PAGES } from './pages.ts';
import { signOut } from './session.ts';
import { ThemeChoice } from './theme-choice.tsx';
import { Button } from './ui/button.tsx';
import { ageText, useNow } from './ui/time.tsx';

export function Shell({ children }: { children: ReactNode }) {
  const [path, navigate] = useLocation();
  const { name, role } = useIdentity();
  const help = useShortcut('?', 'Show all keys');
  const palette = useShortcut('Ctrl-K', 'Find machines, operations and actions');
  return (
    <div className="shell">
      <a className="skip-link" href="#page">
        Skip to the page
      </a>
      <header className="topbar">
        <Link className="brand" href="/fleet">
          <img src="/icon.svg" alt="" width="22" height="22" />
          Ingot
        </Link>
        <Button kind="quiet" onClick={palette.press}>
          Find anything <kbd>Ctrl-K</kbd>
        </Button>
        <div className="spacer" />
        <LiveMark />
        <ThemeChoice />
        <Button kind="quiet" label="Keys" onClick={help.press}>
          <kbd>?</kbd>
        </Button>
        <span className="soft" title={`Role ${role}`}>
          {name} ({role})
        </span>
        <Button kind="quiet" onClick={() => signOut('')}>
          Sign out
        </Button>
      </header>
      <nav className="sidebar" aria-label="Pages">
        <ul>
          {PAGES.map(({ href, title }) => (
            <li key={href}>
              <Link
                href={href}
                aria-current={path === href || path.startsWith(`${href}/`) ? 'page' : undefined}
              >
                {title}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <main className="page" id="page" tabIndex={-1}>
        {children}
      </main>
      {help.pressed && <ShortcutHelp onClose={help.release} />}
      {palette.pressed && <Palette onClose={palette.release} onGo={navigate} />}
    </div>
  );
}

const WORDS = {
  connecting: 'connecting',
  live: 'live',
  reconnecting: 'reconnecting',
  paused: 'paused',
} as const;

/** Whether the page follows the server, and how old what it shows is when it does not. */
function LiveMark() {
  const { state, freshAt } = useLiveStatus();
  const now = useNow();
  const age = freshAt === 0 ? '' : ageText(now - freshAt);
  const isLive = state === 'live';
  return (
    <span className={`live tone-${isLive ? 'green' : 'orange'}`} role="status" data-live={state}>
      {WORDS[state]}
      {!isLive && age !== '' && ` · as of ${age} ago`}
    </span>
  );
}
