/** Records at each start which settings the server runs with, and what changed since the start before. */
import { hash } from 'node:crypto';
import type { AuditKey } from '../../audit/audit-key.ts';
import { packageVersion } from '../../package-root.ts';
import type { Database, Session } from '../../store/database/database.ts';
import { lastEventOf } from '../../store/events/event-log.ts';
import { recordChange } from '../../store/events/record-change.ts';
import type { ReplicaOptions } from '../replica/replica-options.ts';
import { type SettingsView, settingsView } from './settings-view.ts';

const ACTOR = { kind: 'system', id: 'server' } as const;
const SUBJECT = 'server';

type SettingsOptions = Pick<ReplicaOptions, 'settings' | 'configuration'>;

export async function recordSettings(
  database: Database,
  options: SettingsOptions,
  key: AuditKey,
): Promise<void> {
  await database.transaction(async (session) => {
    const before = await lastEventOf(session, 'settings', SUBJECT);
    const view = viewOf(options, key);
    await record(session, {
      to: 'loaded',
      key,
      view,
      // The first start has nothing to compare with.
      before:
        before === null ? view : ((JSON.parse(before.metadata) as { values?: SettingsView }).values ?? view),
    });
  });
}

/** With a new audit key, fingerprints are others: the next start compares with these. */
export async function recordFingerprints(
  session: Session,
  options: SettingsOptions,
  key: AuditKey,
): Promise<void> {
  const view = viewOf(options, key);
  await record(session, { to: 'fingerprinted', key, view, before: view });
}

function viewOf({ settings, configuration }: SettingsOptions, key: AuditKey): SettingsView {
  return settingsView({ ...settings, ...configuration }, (text) => fingerprintOf(key, text));
}

async function record(
  session: Session,
  { to, key, view, before }: { to: string; key: AuditKey; view: SettingsView; before: SettingsView },
): Promise<void> {
  await recordChange(session, {
    ...{ kind: 'settings', subject: SUBJECT, to, actor: ACTOR, before, after: view },
    metadata: {
      version: packageVersion(),
      fingerprint: fingerprintOf(key, JSON.stringify(view)),
      values: view,
    },
  });
}

/** Keyed by the audit key: a guess of a short secret can't be tried against it. Signatures of Ed25519 are always the same. */
function fingerprintOf(key: AuditKey, text: string): string {
  return hash('sha256', key.sign(`ingot settings 1\n${text}`), 'hex').slice(0, 16);
}
