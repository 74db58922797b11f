/** The issuers at which people can sign in, beside the form for a token. */
import { useEffect, useState } from 'react';

interface Issuer {
  readonly name: string;
  readonly title: string;
}

/** Why the last attempt failed. The texts are here: nothing that a link says gets onto the page. */
const FAILURES: Readonly<Record<string, string>> = {
  denied: 'You did not sign in: the issuer reports that access was denied.',
  expired: 'The sign-in took too long, or was started in another browser. Try again.',
  no_role: 'You signed in at the issuer, but you have no role here. Ask an admin for access.',
  rejected: 'The issuer did not confirm the sign-in. Try again; the server log says why.',
  unavailable: 'The issuer is not responding. Try again, or sign in with a token.',
  unknown_issuer: 'There is no such issuer.',
};

const PARAMETER = 'sign_in_failed';

/** Reads the failure from the URL, once, and removes it there. */
export function takeSignInFailure(): string {
  const url = new URL(location.href);
  const failure = url.searchParams.get(PARAMETER);
  if (failure === null) return '';
  url.searchParams.delete(PARAMETER);
  history.replaceState(history.state, '', url);
  return FAILURES[failure] ?? '';
}

export function IssuerLinks() {
  const issuers = useIssuers();
  if (issuers.length === 0) return null;
  return (
    <div className="stack">
      {issuers.map(({ name, title }) => (
        <a key={name} className="button primary" href={signInUrl(name)}>
          Sign in with {title}
        </a>
      ))}
      <p className="soft">or with a token:</p>
    </div>
  );
}

function signInUrl(issuer: string): string {
  const page = location.pathname + location.search + location.hash;
  return `/auth/login?${new URLSearchParams({ issuer, return_to: page })}`;
}

/** Without an answer there is the form for a token. */
function useIssuers(): readonly Issuer[] {
  const [issuers, setIssuers] = useState<readonly Issuer[]>([]);
  useEffect(() => {
    fetch('/auth/methods')
      .then(async (response) => ((await response.json()) as { oidc?: Issuer[] }).oidc ?? [])
      .then(setIssuers, () => setIssuers([]));
  }, []);
  return issuers;
}
