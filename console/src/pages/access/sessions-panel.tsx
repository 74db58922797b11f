/** Who is signed in to the console. An admin can sign someone out. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ConsoleSession } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { admin } from '../../api/clients.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, TimeLeft } from '../../ui/time.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { TextInput } from '../rollout-draft/text-input.tsx';

const KEY = ['sessions'] as const;
/** Uses of sessions are no events. */
const EVERY_MS = 15_000;

export function SessionsPanel() {
  const [ending, setEnding] = useState<ConsoleSession | null>(null);
  const forbidden = useForbidden()('admin', METHODS.endSessions);
  const list = useQuery({
    queryKey: KEY,
    queryFn: async () => (await admin.listSessions({})).sessions,
    refetchInterval: EVERY_MS,
  });
  return (
    <Panel title="Sessions" padding="none">
      {list.isPending && <Loading lines={3} />}
      {list.isError && !list.data && (
        <Failed what="Failed to load sessions" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.data?.length === 0 && <Empty title="No one is signed in" />}
      {list.data && list.data.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              <th>Identity</th>
              <th>Signed in with</th>
              <th>Last used</th>
              <th>Signed in</th>
              <th>Ends</th>
              <th>
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.data.map((session) => (
              <tr key={session.sessionId}>
                <td>
                  <strong>{session.identity}</strong>
                </td>
                <td>{session.issuer ? `issuer ${session.issuer}` : `token ${session.token}`}</td>
                <td>
                  <Age at={session.usedAt} />
                </td>
                <td>
                  <Age at={session.createdAt} />
                </td>
                <td>
                  in <TimeLeft until={session.expiresAt} />
                </td>
                <td className="number">
                  <Button
                    kind="quiet"
                    label={`Sign out ${session.identity}`}
                    disabledBecause={forbidden}
                    onClick={() => setEnding(session)}
                  >
                    Sign out
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {ending && <EndDialog session={ending} onClose={() => setEnding(null)} />}
    </Panel>
  );
}

function EndDialog({ session, onClose }: { session: ConsoleSession; onClose: () => void }) {
  const [reason, setReason] = useState('');
  const { notify } = useToasts();
  const queries = useQueryClient();
  return (
    <FormDialog
      title={`Sign out ${session.identity}?`}
      verb="Sign out"
      kind="danger-primary"
      missing=""
      act={() => admin.endSession({ sessionId: session.sessionId, reason: reason.trim() })}
      onDone={() => {
        notify(`${session.identity} is signed out`);
        void queries.invalidateQueries({ queryKey: KEY });
      }}
      onClose={onClose}
    >
      <p>
        This ends the session in all its tabs. The {session.issuer ? 'identity' : 'token'} stays valid:{' '}
        {session.issuer ? 'to keep the person out, change the issuer.' : 'to keep the person out, revoke it.'}
      </p>
      <TextInput title="Reason (optional)" value={reason} onChange={setReason} />
    </FormDialog>
  );
}
