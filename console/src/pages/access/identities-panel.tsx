/** People of an issuer and client certificates: as what they come, when they last did, and ending or restoring that. */
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { KnownIdentity } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { admin } from '../../api/clients.ts';
import { METHODS, useForbidden, useIdentity } from '../../identity.tsx';
import { shellWord } from '../../shell-word.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, TimeLeft, useNow } from '../../ui/time.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { TextInput } from '../rollout-draft/text-input.tsx';

const KEY = ['identities'] as const;
/** Uses are no events. */
const EVERY_MS = 15_000;
const DAY_MS = 86_400_000;

type OpenDialog = { readonly about: 'revoke' | 'restore'; readonly identity: string };

export function IdentitiesPanel() {
  const [dialog, open] = useState<OpenDialog | null>(null);
  const mayNotChange = useForbidden()('admin', METHODS.changeIdentities);
  const list = useQuery({
    queryKey: KEY,
    queryFn: async () => (await admin.listIdentities({})).identities,
    refetchInterval: EVERY_MS,
  });
  const close = () => open(null);
  return (
    <Panel
      title="Identities"
      padding="none"
      actions={
        <Button disabledBecause={mayNotChange} onClick={() => open({ about: 'revoke', identity: '' })}>
          Revoke an identity
        </Button>
      }
    >
      {list.isPending && <Loading lines={3} />}
      {list.isError && !list.data && (
        <Failed what="Failed to load identities" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.data?.length === 0 && (
        <Empty title="No one came without a token yet">
          <span>
            People of an issuer (OpenID Connect) and client certificates appear here with their first call.
            The server's configuration says who may come, as which role and for which machines.
          </span>
        </Empty>
      )}
      {list.data && list.data.length > 0 && (
        <IdentityTable identities={list.data} mayNotChange={mayNotChange} onAct={open} />
      )}
      {dialog?.about === 'revoke' && <RevokeDialog known={dialog.identity} onClose={close} />}
      {dialog?.about === 'restore' && <RestoreDialog identity={dialog.identity} onClose={close} />}
    </Panel>
  );
}

interface IdentityTableProps {
  readonly identities: readonly KnownIdentity[];
  /** Empty: the caller may. */
  readonly mayNotChange: string;
  readonly onAct: (dialog: OpenDialog) => void;
}

function IdentityTable({ identities, mayNotChange, onAct }: IdentityTableProps) {
  const now = useNow();
  const { name: caller } = useIdentity();
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Identity</th>
          <th>Comes by</th>
          <th>Role</th>
          <th>Scope</th>
          <th>Last used</th>
          <th>Access</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {identities.map((one) => (
          <tr key={one.identity}>
            <td>
              <strong>{one.identity}</strong>
              {one.identity === caller && <span className="soft"> (you)</span>}
            </td>
            <td>{wayText(one)}</td>
            <td>{one.role}</td>
            <td>{scopeText(one)}</td>
            <td>
              {one.lastUsedAt ? <Age at={one.lastUsedAt} /> : <span className="soft">never</span>}
              {one.lastUsedFrom && <div className="soft">from {one.lastUsedFrom}</div>}
            </td>
            <td>
              <AccessText identity={one} now={now} />
            </td>
            <td className="number">
              <Button
                kind={one.endsAt ? 'plain' : 'danger'}
                label={`${one.endsAt ? 'Restore' : 'Revoke'} ${one.identity}`}
                disabledBecause={
                  mayNotChange || (one.identity === caller ? 'Another admin has to revoke your own.' : '')
                }
                onClick={() => onAct({ about: one.endsAt ? 'restore' : 'revoke', identity: one.identity })}
              >
                {one.endsAt ? 'Restore' : 'Revoke'}
              </Button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function wayText({ way, issuer }: KnownIdentity): string {
  if (way === '') return '';
  return way === 'oidc' ? `issuer ${issuer}` : 'client certificate';
}

function scopeText({ way, scope }: KnownIdentity) {
  if (way === '') return null;
  return scope === '' ? <span className="soft">whole fleet</span> : <code>{scope}</code>;
}

function AccessText({
  identity: { endsAt, endedBy, endReason },
  now,
}: {
  identity: KnownIdentity;
  now: number;
}) {
  if (!endsAt) return <span className="soft">by configuration</span>;
  const isOver = timestampMs(endsAt) <= now;
  return (
    <>
      {isOver ? (
        <span className="badge tone-gray">revoked</span>
      ) : (
        <span className="badge tone-yellow">
          ends in <TimeLeft until={endsAt} />
        </span>
      )}
      <div className="soft">
        by {endedBy}
        {endReason && `: ${endReason}`}
      </div>
    </>
  );
}

/** In days; 0: at once. */
const WHEN = { 0: 'Now', 1: 'In a day', 7: 'In 7 days', 30: 'In 30 days' } as const;

function RevokeDialog({ known, onClose }: { known: string; onClose: () => void }) {
  const [identity, setIdentity] = useState(known);
  const [days, setDays] = useState(0);
  const [reason, setReason] = useState('');
  const { notify } = useToasts();
  const queries = useQueryClient();
  const name = identity.trim();
  const missing = name === '' ? 'Enter an identity.' : reason.trim() === '' ? 'Enter a reason.' : '';
  const at = days === 0 ? '' : ` --at ${days}d`;
  return (
    <FormDialog
      title={known === '' ? 'Revoke an identity' : `Revoke ${known}?`}
      verb="Revoke"
      kind="danger-primary"
      missing={missing}
      act={() =>
        admin.revokeIdentity({
          identity: name,
          reason: reason.trim(),
          ...(days > 0 && { at: timestampFromMs(Date.now() + days * DAY_MS) }),
        })
      }
      onDone={() => {
        notify(days === 0 ? `${name} is revoked` : `The access of ${name} ends`);
        void queries.invalidateQueries({ queryKey: KEY });
      }}
      onClose={onClose}
      command={`ingot identity revoke ${shellWord(name || '<identity>')}${at} --reason ${shellWord(reason.trim() || '…')}`}
    >
      <p>
        Every call of it is refused, on all replicas, and its sessions end. Its token at the issuer stays.
      </p>
      {known === '' && (
        <TextInput title="Identity" placeholder="corp:4711" value={identity} onChange={setIdentity} />
      )}
      <label className="field">
        <span>When</span>
        <select className="input" value={days} onChange={(event) => setDays(Number(event.target.value))}>
          {Object.entries(WHEN).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <TextInput title="Reason" value={reason} onChange={setReason} />
    </FormDialog>
  );
}

function RestoreDialog({ identity, onClose }: { identity: string; onClose: () => void }) {
  const [reason, setReason] = useState('');
  const { notify } = useToasts();
  const queries = useQueryClient();
  return (
    <FormDialog
      title={`Restore ${identity}?`}
      verb="Restore"
      missing=""
      act={() => admin.restoreIdentity({ identity, reason: reason.trim() })}
      onDone={() => {
        notify(`${identity} is let in again`);
        void queries.invalidateQueries({ queryKey: KEY });
      }}
      onClose={onClose}
      command={`ingot identity restore ${shellWord(identity)}`}
    >
      <p>It may call again what the server's configuration allows it.</p>
      <TextInput title="Reason (optional)" value={reason} onChange={setReason} />
    </FormDialog>
  );
}
