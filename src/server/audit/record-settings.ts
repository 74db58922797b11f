/** Records at each start which settings the server runs with, and what changed since the start before. */
import { hash } from 'node:crypto';
import type { AuditKey } from '../../audit/audit-key.ts';
import { packageVersion } from '../../package-root.ts';
import type { Database } from '../../store/database/database.ts';
import { lastEventOf } from '../../store/events/event-log.ts';
import { recordChange } from '../../store/events/record-change.ts';
import type { ReplicaOptions } from '../replica/replica-options.ts';
import { type SettingsView, settingsView } from './settings-view.ts';

const ACTOR = { kind: 'system', id: 'server' } as const;
const SUBJECT = 'server';

export async function recordSettings(
  database: Database,
  { settings, configuration }: Pick<ReplicaOptions, 'settings' | 'configuration'>,
  key: AuditKey,
): Promise<void> {
  const view = settingsView({ ...settings, ...configuration }, (text) => fingerprintOf(key, text));
  await database.transaction(async (session) => {
    const before = await lastEventOf(session, 'settings', SUBJECT);
    await recordChange(session, {
      kind: 'settings',
      subject: SUBJECT,
      to: 'loaded',
      actor: ACTOR,
      // The first start has nothing to compare with.
      before: before === null ? view : (JSON.parse(before.metadata) as { values?: SettingsView }).values,
      after: view,
      metadata: {
        version: packageVersion(),
        fingerprint: fingerprintOf(key, JSON.stringify(view)),
        values: view,
      },
    });
  });
}

/** Keyed by the audit key: a guess of a short secret can't be tried against it. Signatures of Ed25519 are always the same. */
function fingerprintOf(key: AuditKey, text: string): string {
  return hash('sha256', key.sign(`ingot settings 1\n${text}`), 'hex').slice(0, 16);
}
