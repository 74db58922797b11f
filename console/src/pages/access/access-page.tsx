/** Who may call the server: the caller itself, tokens, identities of issuers and certificates, sessions and scopes. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Token } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { admin } from '../../api/clients.ts';
import { METHODS, useForbidden, useIdentity } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import '../../styles/access.css';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useNow } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { IdentitiesPanel } from './identities-panel.tsx';
import { ScopesPanel } from './scopes-panel.tsx';
import { SessionsPanel } from './sessions-panel.tsx';
import { NewTokenDialog, RevokeDialog, RotateDialog } from './token-dialogs.tsx';
import { tokenState } from './token-state.ts';
import { TokenTable } from './token-table.tsx';

/** Uses of tokens are no events, and the server writes them some seconds later. */
const USES_EVERY_MS = 10_000;
const KEY = ['tokens'] as const;

type OpenDialog = { readonly about: 'new' } | { readonly about: 'rotate' | 'revoke'; readonly token: Token };

export function AccessPage() {
  const [dialog, open] = useState<OpenDialog | null>(null);
  const forbidden = useForbidden();
  const mayNotRead = forbidden('admin', METHODS.readTokens);
  const mayNotReadSessions = forbidden('admin', METHODS.readSessions);
  const mayNotReadIdentities = forbidden('admin', METHODS.readIdentities);
  const mayNotCreate = forbidden('admin', METHODS.createTokens);
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: KEY });
  const close = () => open(null);
  const create = () => open({ about: 'new' });
  useOfferActions([{ text: 'New token', disabledBecause: mayNotCreate, run: create }]);
  return (
    <>
      <PageTitle
        title="Access"
        actions={
          <Button kind="primary" disabledBecause={mayNotCreate} onClick={create}>
            <Icon name="plus" /> New token
          </Button>
        }
      />
      <div className="stack">
        <You />
        {mayNotRead === '' ? (
          <Tokens onAct={(about, token) => open({ about, token })} />
        ) : (
          <Panel title="Tokens">
            <Empty title="Tokens are for admins">{mayNotRead}</Empty>
          </Panel>
        )}
        {mayNotReadIdentities === '' && <IdentitiesPanel />}
        {mayNotReadSessions === '' && <SessionsPanel />}
        {mayNotRead === '' && <Scopes />}
      </div>
      {dialog?.about === 'new' && <NewTokenDialog onDone={refresh} onClose={close} />}
      {dialog?.about === 'rotate' && <RotateDialog token={dialog.token} onDone={refresh} onClose={close} />}
      {dialog?.about === 'revoke' && <RevokeDialog token={dialog.token} onDone={refresh} onClose={close} />}
    </>
  );
}

/** The caller's own identity: what everything on these pages is allowed by. */
function You() {
  const { name, role, scope, methods } = useIdentity();
  return (
    <Panel title="You are signed in as">
      <dl className="access-you">
        <div>
          <dt>Name</dt>
          <dd>{name}</dd>
        </div>
        <div>
          <dt>Role</dt>
          <dd>{role}</dd>
        </div>
        <div>
          <dt>Scope</dt>
          <dd>{scope === '' ? 'The whole fleet' : <code>{scope}</code>}</dd>
        </div>
        <div>
          <dt>May call</dt>
          <dd>{methods.size} methods</dd>
        </div>
      </dl>
    </Panel>
  );
}

function useTokens() {
  return useQuery({
    queryKey: KEY,
    queryFn: async () => (await admin.listTokens({})).tokens,
    refetchInterval: USES_EVERY_MS,
  });
}

/** Of the tokens that can be used. */
function Scopes() {
  const now = useNow();
  const { data } = useTokens();
  const live = data?.filter((token) => !['revoked', 'expired'].includes(tokenState(token, now).state));
  return live ? <ScopesPanel tokens={live} /> : null;
}

const SHOWN = { current: 'Current', ended: 'Revoked and expired' } as const;

function Tokens({ onAct }: { onAct: (about: 'rotate' | 'revoke', token: Token) => void }) {
  const [shown, setShown] = useUrlParam('tokens');
  const now = useNow();
  const list = useTokens();
  const isEnded = (token: Token) => ['revoked', 'expired'].includes(tokenState(token, now).state);
  const tokens = (list.data ?? []).filter((token) => isEnded(token) === (shown === 'ended'));
  return (
    <Panel
      title="Tokens"
      padding="none"
      actions={Object.entries(SHOWN).map(([value, text]) => (
        <Button
          key={value}
          kind="quiet"
          pressed={(shown || 'current') === value}
          onClick={() => setShown(value === 'current' ? '' : value)}
        >
          {text}
        </Button>
      ))}
    >
      {list.isPending && <Loading lines={5} />}
      {list.isError && !list.data && (
        <Failed what="Failed to load tokens" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isSuccess && tokens.length === 0 && (
        <Empty title={shown === 'ended' ? 'No token was revoked or expired' : 'No tokens yet'} />
      )}
      {tokens.length > 0 && <TokenTable tokens={tokens} onAct={onAct} />}
    </Panel>
  );
}
