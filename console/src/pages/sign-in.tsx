import { type FormEvent, useState } from 'react';
import { failureOf } from '../api/failure.ts';
import { capitalize } from '../capitalize.ts';
import { signIn } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Command } from '../ui/command.tsx';
import { PageTitle } from '../ui/page-title.tsx';
import { IssuerLinks, takeSignInFailure } from './issuer-links.tsx';

/** The server exchanges a token for the cookie of a session; the page keeps nothing. */
export function SignIn({ reason }: { reason: string }) {
  const [token, setToken] = useState('');
  const [fault, setFault] = useState(() => takeSignInFailure() || reason);
  const [isChecking, setChecking] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const secret = token.trim();
    if (!/^[\x21-\x7e]+$/.test(secret)) {
      setFault('Enter a valid token: printable ASCII characters without spaces.');
      return;
    }
    setChecking(true);
    try {
      await signIn(secret);
    } catch (error) {
      const { message, advice } = failureOf(error);
      setFault(capitalize(`${message}. ${advice}`.trim()));
    } finally {
      setChecking(false);
    }
  };
  return (
    <main className="sign-in">
      <form className="panel" onSubmit={(event) => void submit(event)}>
        <div className="body stack">
          <PageTitle title="Sign in to Ingot" />
          {!window.isSecureContext && (
            <p className="fault" role="status">
              This connection is not encrypted: what you enter here can be read on the network.
            </p>
          )}
          <IssuerLinks />
          <label className="field">
            <span>Token</span>
            <input
              className="input mono"
              type="password"
              name="token"
              autoComplete="off"
              spellCheck={false}
              // biome-ignore lint/a11y/noAutofocus: there is nothing else to do on this page
              autoFocus
              value={token}
              aria-invalid={fault !== '' || undefined}
              aria-describedby="sign-in-fault"
              onChange={(event) => setToken(event.target.value)}
            />
          </label>
          <p id="sign-in-fault" className="fault" role="alert">
            {fault}
          </p>
          <Button type="submit" kind="primary" disabledBecause={isChecking ? 'Checking the token…' : ''}>
            Sign in
          </Button>
          <p className="soft">
            The browser gets the cookie of a session and does not keep the token. An admin creates tokens
            with:
          </p>
          <Command>ingot token create me --role operator</Command>
          <p className="soft">
            The first admin token is in a file. The server prints its path when it starts.
          </p>
        </div>
      </form>
    </main>
  );
}
