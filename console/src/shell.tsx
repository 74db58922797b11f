/** The frame of every page: menu, search, connection status and the signed-in token. */
import { type ReactNode, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useIdentity } from './identity.tsx';
import { Palette } from './keyboard/palette.tsx';
import { ShortcutHelp } from './keyboard/shortcut-help.tsx';
import { useShortcut } from './keyboard/shortcuts.tsx';
import { useLiveStatus } from './live/live.tsx';
import { MENU } from './pages.ts';
import { SettingsMenu } from './settings-menu.tsx';
import { Button } from './ui/button.tsx';
import { Icon } from './ui/icon.tsx';
import { ageText, useNow } from './ui/time.tsx';

export function Shell({ children }: { children: ReactNode }) {
  const [path, navigate] = useLocation();
  const { insecurePlaintext } = useIdentity();
  const help = useShortcut('?', 'Show keyboard shortcuts');
  const palette = useShortcut('Ctrl-K', 'Search machines, operations, rollouts and actions');
  const [menu, setMenu] = useState<'open' | 'closed'>('closed');
  // biome-ignore lint/correctness/useExhaustiveDependencies: on a phone the menu covers the page that was chosen
  useEffect(() => setMenu('closed'), [path]);
  return (
    <div className="shell" data-menu={menu}>
      <a className="skip-link" href="#page">
        Skip to main content
      </a>
      <header className="topbar">
        <button
          type="button"
          className="button quiet menu-button"
          aria-label="Menu"
          aria-expanded={menu === 'open'}
          onClick={() => setMenu(menu === 'open' ? 'closed' : 'open')}
        >
          <Icon name="menu" />
        </button>
        <button type="button" className="search-button" onClick={palette.press}>
          <Icon name="search" />
          <span>Search</span>
          <kbd>Ctrl-K</kbd>
        </button>
        <div className="spacer" />
        {insecurePlaintext && <InsecureBadge />}
        <LiveIndicator />
        <Button kind="quiet" label="Keyboard shortcuts" onClick={help.press}>
          <kbd>?</kbd>
        </Button>
        <SettingsMenu />
      </header>
      <Sidebar path={path} />
      <main className="page" id="page" tabIndex={-1}>
        <AwayBanner />
        {children}
      </main>
      {help.pressed && <ShortcutHelp onClose={help.release} />}
      {palette.pressed && <Palette onClose={palette.release} onGo={navigate} />}
    </div>
  );
}

function Sidebar({ path }: { path: string }) {
  const { version } = useIdentity();
  return (
    <nav className="sidebar" aria-label="Main">
      <Link className="brand" href="/fleet">
        <img src="/icon.svg" alt="" width="20" height="20" />
        Ingot
      </Link>
      {MENU.map(({ title, pages }) => (
        <section key={title} aria-label={title}>
          <p className="menu-title">{title}</p>
          <ul>
            {pages.map((page) => (
              <li key={page.href}>
                <Link
                  href={page.href}
                  aria-current={path === page.href || path.startsWith(`${page.href}/`) ? 'page' : undefined}
                >
                  <Icon name={page.icon} />
                  {page.title}
                </Link>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <p className="version soft">{version}</p>
    </nav>
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

/** Shorter interruptions are those of a restart or a proxy: the indicator is enough. */
const AWAY_MS = 5_000;

/** What the page shows is from before: its age, where it is not overlooked. */
function AwayBanner() {
  const { state, freshAt } = useLiveStatus();
  const age = useNow() - freshAt;
  if (state === 'live' || freshAt === 0 || age < AWAY_MS) return null;
  return (
    <p className="away" role="alert">
      <Icon name="warning" />
      <span>
        <strong>The server is not responding.</strong> This page shows its data as of{' '}
        <time className="numeric" dateTime={new Date(freshAt).toISOString()}>
          {ageText(age)} ago
        </time>
        . It continues by itself.
      </span>
    </p>
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
