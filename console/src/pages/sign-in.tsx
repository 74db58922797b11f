import { type FormEvent, useState } from 'react';
import { fleet } from '../api/clients.ts';
import { failureOf } from '../api/failure.ts';
import { lastSignOutReason, signIn } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { Command } from '../ui/command.tsx';
import { PageTitle } from '../ui/page-title.tsx';

/** Checks the token with the server before it stores it. */
export function SignIn() {
  const [token, setToken] = useState('');
  const [fault, setFault] = useState(lastSignOutReason());
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
      await fleet.whoAmI({}, { headers: { authorization: `Bearer ${secret}` } });
      signIn(secret);
    } catch (error) {
      const { message, advice } = failureOf(error);
      setFault(`${message}. ${advice}`.trim());
    } finally {
      setChecking(false);
    }
  };
  return (
    <main className="sign-in">
      <form className="panel" onSubmit={(event) => void submit(event)}>
        <div className="body stack">
          <PageTitle title="Sign in to Ingot" />
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
            The token is stored in this tab only, until you close it. An admin creates tokens with:
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
