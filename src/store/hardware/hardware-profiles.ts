/** Stored hardware profiles, and what they make of machines. */
import type { Acting } from '../../domain/access/caller.ts';
import type { Scope } from '../../domain/access/scope.ts';
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import {
  degradedBy,
  type HardwareProfile,
  judgeHardware,
  type ProfileRule,
  profileOf,
} from '../../domain/hardware/hardware-profile.ts';
import { applyChange } from '../../domain/machine/machine-change.ts';
import type { Database, Session } from '../database/database.ts';
import { recordChange } from '../events/record-change.ts';
import { preparedAs, readableIn } from '../filter/scope-condition.ts';
import { lockMachines, writeChanged } from '../machines/machine-rows.ts';
import { checkOwned, notAvailable, type OwnedRow, termsOf } from '../owned-records.ts';

interface ProfileRow extends OwnedRow, Record<string, unknown> {
  profile_name: string;
  description: string;
  match: string;
  expect: string[];
  created_by: string;
  created_at: Date;
  scope: string;
}

const COLUMNS = 'profile_name, description, match, expect, created_by, created_at, scope, scope_terms';

function storedProfile(row: ProfileRow): HardwareProfile {
  const { profile_name: name, description, match, expect } = row;
  const { scope, created_by: createdBy, created_at: createdAt } = row;
  return profileOf({ name, description, match, expect }, { scope, createdBy, createdAt });
}

/** All of them, to judge machines by. */
export async function readHardwareProfiles(session: Session): Promise<HardwareProfile[]> {
  const rows = await session.run<ProfileRow>(
    'read-hardware-profiles',
    `SELECT ${COLUMNS} FROM hardware_profiles ORDER BY profile_name`,
  );
  return rows.map(storedProfile);
}

/** Those that a caller with this scope may read. */
export async function listHardwareProfiles(
  session: Session,
  scope: Scope | null,
): Promise<HardwareProfile[]> {
  const readable = readableIn(scope, 1);
  const rows = await session.run<ProfileRow>(
    preparedAs('list-hardware-profiles', scope),
    `SELECT ${COLUMNS} FROM hardware_profiles WHERE ${readable.text} ORDER BY profile_name`,
    [...readable.values],
  );
  return rows.map(storedProfile);
}

export async function setHardwareProfile(
  database: Database,
  rule: ProfileRule,
  { actor, scope }: Acting,
): Promise<HardwareProfile> {
  return database.transaction(async (session) => {
    const before = await lockProfile(session, rule.name);
    checkOwned(`hardware profile ${rule.name}`, before, scope);
    const [row] = await session.run<ProfileRow>(
      'set-hardware-profile',
      `INSERT INTO hardware_profiles (profile_name, description, match, expect, created_by, scope, scope_terms)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (profile_name) DO UPDATE SET description = excluded.description, match = excluded.match,
         expect = excluded.expect, created_by = excluded.created_by, created_at = now()
       WHERE hardware_profiles.scope_terms = excluded.scope_terms OR $6 = ''
       RETURNING ${COLUMNS}`,
      [
        rule.name,
        rule.description,
        rule.match,
        rule.expect,
        actorLabel(actor),
        scope?.text ?? '',
        termsOf(scope),
      ],
    );
    // Another scope took the name meanwhile.
    if (!row)
      throw scope === null
        ? profileNotFound(rule.name)
        : notAvailable(`hardware profile ${rule.name}`, scope);
    await recordChange(session, {
      kind: 'hardware',
      subject: `profile ${rule.name}`,
      to: before ? 'replaced' : 'created',
      actor,
      before: before && ruleOf(before),
      after: rule,
    });
    return storedProfile(row);
  });
}

async function lockProfile(session: Session, name: string): Promise<ProfileRow | undefined> {
  const [row] = await session.run<ProfileRow>(
    'lock-hardware-profile',
    `SELECT ${COLUMNS} FROM hardware_profiles WHERE profile_name = $1 FOR UPDATE`,
    [name],
  );
  return row;
}

function ruleOf({ profile_name: name, description, match, expect }: ProfileRow): ProfileRule {
  return { name, description, match, expect };
}

/** Returns the profile as it was. */
export async function deleteHardwareProfile(
  database: Database,
  name: string,
  { actor, scope }: Acting,
): Promise<HardwareProfile> {
  return database.transaction(async (session) => {
    const readable = readableIn(scope, 2);
    const [row] = await session.run<ProfileRow>(
      preparedAs('delete-hardware-profile', scope),
      `DELETE FROM hardware_profiles WHERE profile_name = $1 AND ${readable.text} RETURNING ${COLUMNS}`,
      [name, ...readable.values],
    );
    if (!row) throw profileNotFound(name);
    checkOwned(`hardware profile ${name}`, row, scope);
    const change = { kind: 'hardware', subject: `profile ${name}`, to: 'deleted' } as const;
    await recordChange(session, { ...change, actor, before: ruleOf(row) });
    return storedProfile(row);
  });
}

function profileNotFound(name: string): Fault {
  return new Fault('HARDWARE_PROFILE_NOT_FOUND', {
    message: `there is no hardware profile ${JSON.stringify(name.slice(0, 80))}`,
    metadata: { profile: name.slice(0, 80) },
  });
}

/** Raises or takes back Degraded for machines whose locks the caller does not hold yet. */
export async function judgeMachines(
  session: Session,
  ids: readonly string[],
  actor: Actor,
  operationId: string | null,
): Promise<void> {
  const profiles = await readHardwareProfiles(session);
  const machines = await lockMachines(session, ids);
  await writeChanged(session, machines, ids, (machine, at) => {
    const condition = degradedBy(machine, judgeHardware(machine, profiles));
    if (condition === null) return { machine, events: [] };
    const { events, machine: changed } = applyChange(
      machine,
      { conditions: [condition] },
      { at, actor, operationId },
    );
    // Another difference is no transition, and is written all the same.
    return {
      machine: changed,
      events:
        events.length > 0
          ? events
          : [mismatchEvent(machine.machineId, condition.message, actor, operationId)],
    };
  });
}

function mismatchEvent(machineId: string, comment: string, actor: Actor, operationId: string | null) {
  return {
    kind: 'hardware',
    subject: 'profiles',
    from: 'differs',
    to: 'differs',
    actor,
    comment,
    metadata: {},
    machineId,
    operationId,
    snapshot: null,
  } as const;
}

const BATCH = 200;

/** Judges every machine of which hardware is known, in batches, each in a transaction of its own. */
export async function judgeFleet(database: Database, actor: Actor): Promise<void> {
  for (let last = ''; ; ) {
    const rows = await database.run<{ machine_id: string }>(
      'machines-with-hardware',
      `SELECT machine_id FROM machines WHERE machine_id > $1 AND hardware IS NOT NULL ORDER BY machine_id LIMIT ${BATCH}`,
      [last],
    );
    const ids = rows.map(({ machine_id: id }) => id);
    const end = ids.at(-1);
    if (end === undefined) return;
    await database.transaction((session) => judgeMachines(session, ids, actor, null));
    last = end;
  }
}
