/** The frame of every page: menu, search, connection status and the signed-in token. */
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
import { useToasts } from './ui/toasts.tsx';

export function Shell({ children }: { children: ReactNode }) {
  const [path, navigate] = useLocation();
  const { name, role, scope, insecurePlaintext } = useIdentity();
  const help = useShortcut('?', 'Show keyboard shortcuts');
  const palette = useShortcut('Ctrl-K', 'Search machines, operations, rollouts and actions');
  return (
    <div className="shell">
      <a className="skip-link" href="#page">
        Skip to main content
      </a>
      <header className="topbar">
        <Link className="brand" href="/fleet">
          <img src="/icon.svg" alt="" width="22" height="22" />
          Ingot
        </Link>
        <Button kind="quiet" onClick={palette.press}>
          Search <kbd>Ctrl-K</kbd>
        </Button>
        <div className="spacer" />
        {insecurePlaintext && <InsecureBadge />}
        <LiveIndicator />
        <ThemeChoice />
        <Button kind="quiet" label="Keyboard shortcuts" onClick={help.press}>
          <kbd>?</kbd>
        </Button>
        <span className="soft" title={scope === '' ? `Role ${role}` : `Role ${role}, scope ${scope}`}>
          {name} ({role}
          {scope !== '' && `, ${scope}`})
        </span>
        <SignOutButton />
      </header>
      <nav className="sidebar" aria-label="Main">
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

/** Until the server has ended the session, the user is not signed out. */
function SignOutButton() {
  const { notifyFailure } = useToasts();
  const leave = () => {
    signOut().catch((error: unknown) => notifyFailure('You are not signed out', error));
  };
  return (
    <Button kind="quiet" onClick={leave}>
      Sign out
    </Button>
  );
}

/** On every page, because it does not go away by itself. */
function InsecureBadge() {
  return (
    <strong
      className="badge tone-orange"
      title="The server listens on the network without TLS: tokens and everything else can be read there. Configure tls, and start it without --insecure-plaintext."
    >
      Insecure plaintext
    </strong>
  );
}

/** Whether the page receives events, and how old its data is when it does not. */
function LiveIndicator() {
  const { state, freshAt } = useLiveStatus();
  const now = useNow();
  const age = freshAt === 0 ? '' : ageText(now - freshAt);
  const isLive = state === 'live';
  return (
    <span className={`live tone-${isLive ? 'green' : 'orange'}`} role="status" data-live={state}>
      {state}
      {!isLive && age !== '' && ` · updated ${age} ago`}
    </span>
  );
}
