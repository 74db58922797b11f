/** Tokens: create, rotate, revoke. A secret is shown once, in the dialog that made it, and kept nowhere. */
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { Token } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { admin } from '../../api/clients.ts';
import { failureOf } from '../../api/failure.ts';
import { shellWord } from '../../shell-word.ts';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Clock } from '../../ui/time.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { TextInput } from '../rollout-draft/text-input.tsx';

const DAY_MS = 86_400_000;
const ROLES = {
  viewer: 'Viewer: reads everything in its scope',
  operator: 'Operator: reads, and changes machines',
  admin: 'Admin: everything, tokens and budgets too',
} as const;
type Role = keyof typeof ROLES;

/** In days; 0: never. */
const LIFETIMES = { 7: '7 days', 30: '30 days', 90: '90 days', 365: '1 year', 0: 'Never' } as const;

interface TokenDialogProps {
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function expiry(days: number) {
  return days === 0 ? { noExpiry: true } : { expiresAt: timestampFromMs(Date.now() + days * DAY_MS) };
}

export function NewTokenDialog({ onDone, onClose }: TokenDialogProps) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [days, setDays] = useState(90);
  const [scope, setScope] = useState('');
  const call = useMutation({
    mutationFn: () => admin.createToken({ name: name.trim(), role, scope: scope.trim(), ...expiry(days) }),
    onSuccess: onDone,
  });
  if (call.data) return <Secret title="New token" name={name.trim()} answer={call.data} onClose={onClose} />;
  const missing = name.trim() === '' ? 'Enter a name.' : '';
  return (
    <Dialog
      title="New token"
      onClose={onClose}
      onSubmit={() => call.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            disabledBecause={call.isPending ? 'Request in progress.' : missing}
          >
            Create
          </Button>
        </>
      }
    >
      <TextInput
        title="Name"
        placeholder="anna"
        hint="Whose it is, or what it is for"
        value={name}
        onChange={setName}
      />
      <Choice title="Role" value={role} options={ROLES} onChange={(next) => setRole(next as Role)} />
      <Choice
        title="Expires after"
        value={String(days)}
        options={LIFETIMES}
        onChange={(next) => setDays(Number(next))}
      />
      <TextInput
        title="Scope (optional)"
        placeholder="customer_id=acme"
        hint="A filter over machines. Empty: all of yours"
        value={scope}
        onChange={setScope}
      />
      <Fault error={call.error} />
      <Command>{createCommand({ name, role, days, scope })}</Command>
    </Dialog>
  );
}

interface NewToken {
  readonly name: string;
  readonly role: string;
  readonly days: number;
  readonly scope: string;
}

function createCommand({ name, role, days, scope }: NewToken): string {
  const words = ['ingot token create', shellWord(name.trim() || '<name>'), `--role ${role}`];
  words.push(days === 0 ? '--no-expiry' : `--expires ${days}d`);
  if (scope.trim() !== '') words.push(`--scope ${shellWord(scope.trim())}`);
  return words.join(' ');
}

const OVERLAPS = { 86400: 'a day', 604800: '7 days', 0: 'not at all' } as const;

export function RotateDialog({ token, onDone, onClose }: TokenDialogProps & { readonly token: Token }) {
  const [overlap, setOverlap] = useState('86400');
  const [days, setDays] = useState('');
  const call = useMutation({
    mutationFn: () =>
      admin.rotateToken({
        name: token.name,
        overlapSeconds: BigInt(overlap),
        ...(days !== '' && expiry(Number(days))),
      }),
    onSuccess: onDone,
  });
  if (call.data)
    return <Secret title={`Rotate ${token.name}`} name={token.name} answer={call.data} onClose={onClose} />;
  return (
    <Dialog
      title={`Rotate ${token.name}`}
      onClose={onClose}
      onSubmit={() => call.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabledBecause={call.isPending ? 'Request in progress.' : ''}>
            Rotate
          </Button>
        </>
      }
    >
      <p>The token gets a new secret. Its name, role and scope stay.</p>
      <Choice
        title="The former secret stays valid for"
        value={overlap}
        options={OVERLAPS}
        onChange={setOverlap}
      />
      <Choice
        title="The new one expires after"
        value={days}
        options={{ '': 'as long as before', ...LIFETIMES }}
        onChange={setDays}
      />
      <Fault error={call.error} />
      <Command>{rotateCommand(token.name, Number(overlap), days)}</Command>
    </Dialog>
  );
}

/** No days: as long as before. */
function rotateCommand(name: string, overlapSeconds: number, days: string): string {
  const overlap = overlapSeconds === 0 ? '0s' : `${(overlapSeconds * 1000) / DAY_MS}d`;
  const words = ['ingot token rotate', shellWord(name), `--overlap ${overlap}`];
  if (days !== '') words.push(days === '0' ? '--no-expiry' : `--expires ${days}d`);
  return words.join(' ');
}

export function RevokeDialog({ token, onDone, onClose }: TokenDialogProps & { readonly token: Token }) {
  const { notify } = useToasts();
  const call = useMutation({
    mutationFn: () => admin.revokeToken({ name: token.name }),
    onSuccess: () => {
      notify(`Token ${token.name} is revoked`);
      onDone();
      onClose();
    },
  });
  return (
    <Dialog
      title={`Revoke ${token.name}?`}
      onClose={onClose}
      onSubmit={() => call.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="danger-primary"
            disabledBecause={call.isPending ? 'Request in progress.' : ''}
          >
            Revoke
          </Button>
        </>
      }
    >
      <p>
        It ends at once, with its sessions and streams. This cannot be undone; create another token instead.
      </p>
      <Fault error={call.error} />
      <Command>{`ingot token revoke ${shellWord(token.name)}`}</Command>
    </Dialog>
  );
}

interface SecretProps {
  readonly title: string;
  readonly name: string;
  readonly answer: { readonly secret: string; readonly token?: Token | undefined };
  readonly onClose: () => void;
}

function Secret({ title, name, answer, onClose }: SecretProps) {
  const expiresAt = answer.token?.expiresAt;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p role="status">
        This is the secret of <strong>{name}</strong>. Copy it now: it is not shown again.
      </p>
      <Command>{answer.secret}</Command>
      <p className="soft">
        {expiresAt ? (
          <>
            It expires at <Clock at={expiresAt} />.
          </>
        ) : (
          'It never expires.'
        )}{' '}
        Sign in here with it, or run <code>ingot login</code>.
      </p>
    </Dialog>
  );
}

interface ChoiceProps {
  readonly title: string;
  readonly value: string;
  readonly options: Readonly<Record<string, string>>;
  readonly onChange: (value: string) => void;
}

function Choice({ title, value, options, onChange }: ChoiceProps) {
  return (
    <label className="field">
      <span>{title}</span>
      <select className="input" value={value} onChange={(event) => onChange(event.target.value)}>
        {Object.entries(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Fault({ error }: { error: unknown }) {
  if (error === null) return null;
  const { message, advice } = failureOf(error);
  return (
    <p className="fault" role="alert">
      {message} {advice}
    </p>
  );
}
