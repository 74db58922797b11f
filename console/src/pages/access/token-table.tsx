import type { Token } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { METHODS, useForbidden, useIdentity } from '../../identity.tsx';
import { Button } from '../../ui/button.tsx';
import { Age, Clock, TimeLeft, useNow } from '../../ui/time.tsx';
import { tokenState } from './token-state.ts';

export interface TokenTableProps {
  readonly tokens: readonly Token[];
  readonly onAct: (about: 'rotate' | 'revoke', token: Token) => void;
}

export function TokenTable({ tokens, onAct }: TokenTableProps) {
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Name</th>
          <th>Role</th>
          <th>Scope</th>
          <th>Last used</th>
          <th>Expires</th>
          <th>Created</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {tokens.map((token) => (
          <Row key={`${token.name} ${token.createdAt?.seconds}`} token={token} onAct={onAct} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ token, onAct }: { token: Token; onAct: TokenTableProps['onAct'] }) {
  const { state, tone } = tokenState(token, useNow());
  const { name: caller } = useIdentity();
  const forbidden = useForbidden();
  const ended = state === 'revoked' || state === 'expired' ? `It is ${state}.` : '';
  return (
    <tr>
      <td>
        <strong>{token.name}</strong>
        {token.name === caller && <span className="soft"> (you)</span>}
      </td>
      <td>{token.role}</td>
      <td>{token.scope === '' ? <span className="soft">whole fleet</span> : <code>{token.scope}</code>}</td>
      <td>
        {token.lastUsedAt ? <Age at={token.lastUsedAt} /> : <span className="soft">never</span>}
        {token.lastUsedFrom && <div className="soft">from {token.lastUsedFrom}</div>}
      </td>
      <td>
        {state === 'valid' ? (
          <>
            in <TimeLeft until={token.expiresAt} />
          </>
        ) : (
          <span className={`badge tone-${tone}`}>{state}</span>
        )}
        {state === 'expires soon' && (
          <div className="soft">
            <Clock at={token.expiresAt} />
          </div>
        )}
        {token.previousExpiresAt && ended === '' && (
          <div className="soft">
            former secret until <Clock at={token.previousExpiresAt} />
          </div>
        )}
      </td>
      <td>
        <Age at={token.createdAt} />
        {token.createdBy && <div className="soft">by {token.createdBy}</div>}
      </td>
      <td>
        <div className="token-actions">
          <Button
            label={`Rotate ${token.name}`}
            disabledBecause={ended || forbidden('admin', METHODS.rotateTokens)}
            onClick={() => onAct('rotate', token)}
          >
            Rotate
          </Button>
          <Button
            kind="danger"
            label={`Revoke ${token.name}`}
            disabledBecause={
              (state === 'revoked' ? 'It is revoked.' : '') || forbidden('admin', METHODS.revokeTokens)
            }
            onClick={() => onAct('revoke', token)}
          >
            Revoke
          </Button>
        </div>
      </td>
    </tr>
  );
}
