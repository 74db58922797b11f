/** Records what an inspection found: the inventory with its versions, an event, and MAC addresses for a spec that has none. */
import { type Actor, actorLabel } from '../../domain/actor.ts';
import type { NewEvent } from '../../domain/event.ts';
import { judgeHardware } from '../../domain/hardware/hardware-profile.ts';
import type { HardwareInventory, InventorySource } from '../../domain/install/hardware-inventory.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { MAX_MACS } from '../../domain/machine/spec/spec-check.ts';
import { operationOf, type ProviderCall } from '../../providers/provider.ts';
import type { HardwareInventories, RecordedHardware } from '../../steps/control-plane.ts';
import type { Database, Session } from '../../store/database/database.ts';
import { appendEvents } from '../../store/events/append-events.ts';
import {
  findReportedBy,
  type RecordedInventory,
  recordInventory,
} from '../../store/hardware/hardware-inventories.ts';
import { judgeMachines, readHardwareProfiles } from '../../store/hardware/hardware-profiles.ts';
import { findHardwareVersion } from '../../store/hardware/hardware-versions.ts';
import { isHardwareTaken } from '../../store/machines/machine-hardware.ts';
import { lockMachines, writeMachines } from '../../store/machines/machine-rows.ts';
import { findMachines } from '../../store/machines/machines.ts';
import { startedBy } from '../../store/operations/find-operations.ts';
import { machineChanges, machineEvent } from '../machines/inventory.ts';
import { readInventory } from '../nodes/report/inventory-input.ts';
import { freeAddresses } from '../nodes/report/node-inventory.ts';

interface InventoryDependencies {
  readonly database: Database;
  readonly now: () => Date;
}

const MAX_CHANGES = 20;
const INSPECTION: Actor = { kind: 'system', id: 'inspection' };

export function createHardwareInventories({ database, now }: InventoryDependencies): HardwareInventories {
  return {
    recordedBy: (call, source) => recordedBy(database, call, source),
    async verdict({ machine: { machineId } }) {
      const [machine] = await findMachines(database, [machineId], null);
      if (!machine || machine.hardware === null) return null;
      return judgeHardware(machine, await readHardwareProfiles(database));
    },
    async record(call, source, found) {
      const { machineId } = call.machine;
      // What a BMC says may be anything: it passes the same checks as what an installer reports.
      const inventory =
        readInventory(found, 'inventory', (field, problem) => call.log(`${field}: ${problem}`, 'stderr')) ??
        {};
      await database.transaction(async (session) => {
        const machine = (await lockMachines(session, [machineId])).get(machineId);
        if (!machine) return;
        const operationId = operationOf(call);
        const report = { source, inventory, at: now(), operationId, key: call.key } as const;
        const foundBy = (await startedBy(session, operationId)) ?? actorLabel(INSPECTION);
        const recorded = await recordInventory(session, machineId, { ...report, foundBy });
        const events = inventoryEvents(machineId, operationId, source, recorded);
        if (events.length > 0) await appendEvents(session, events);
        await judgeMachines(session, [machineId], INSPECTION, operationId);
      });
      await fillMacAddresses(database, call, inventory);
    },
  };
}

async function recordedBy(
  session: Session,
  call: ProviderCall,
  source: InventorySource,
): Promise<RecordedHardware | null> {
  const { machineId } = call.machine;
  const kept = await findReportedBy(session, machineId, source, call.key);
  if (kept === null) return null;
  const { version, inventory, reportedAt, changedAt } = kept;
  const isNew = reportedAt.getTime() === changedAt.getTime() && version > 1;
  const stored = isNew ? await findHardwareVersion(session, machineId, source, version) : null;
  return { version, inventory, changes: stored?.changes ?? null };
}

function inventoryEvents(
  machineId: string,
  operationId: string,
  source: InventorySource,
  { version, changes }: RecordedInventory,
): NewEvent[] {
  if (changes !== null && changes.length === 0) return [];
  const more = (changes?.length ?? 0) - MAX_CHANGES;
  return [
    {
      kind: 'hardware',
      subject: source,
      from: version === 1 ? '' : `version ${version - 1}`,
      to: `version ${version}`,
      actor: INSPECTION,
      comment: changes === null ? 'hardware inventory taken' : 'the hardware changed',
      metadata: {
        source,
        ...(changes !== null && {
          changes: [...changes.slice(0, MAX_CHANGES), ...(more > 0 ? [`${more} more`] : [])],
        }),
      },
      machineId,
      operationId,
      snapshot: null,
    },
  ];
}

/** In its own transaction: a conflict with another machine must not fail the inspection. */
async function fillMacAddresses(
  database: Database,
  call: ProviderCall,
  { nics = [] }: HardwareInventory,
): Promise<void> {
  const found = nics.flatMap(({ mac_address: address }) => (address === undefined ? [] : [address]));
  const addresses = [...new Set(found)].slice(0, MAX_MACS);
  const { machineId } = call.machine;
  try {
    await database.transaction(async (session) => {
      const machine = (await lockMachines(session, [machineId])).get(machineId);
      if (!machine || machine.spec.mac_addresses.length > 0) return;
      const free = await freeAddresses(session, machine, addresses);
      if (free.length === 0) return;
      const filled: Machine = { ...machine, spec: { ...machine.spec, mac_addresses: free } };
      const changes = machineChanges(machine, filled);
      await writeMachines(
        session,
        [filled],
        [
          {
            ...machineEvent(machineId, 'registered', 'updated', INSPECTION, changes),
            operationId: operationOf(call),
          },
        ],
      );
      call.log(`spec.mac_addresses was empty: ${free.join(', ')} from what was found`);
    });
  } catch (error) {
    // Another machine took an address meanwhile: the next inspection adds the others.
    if (!isHardwareTaken(error)) throw error;
    call.log(
      'a MAC address that was found is that of another machine; spec.mac_addresses stays empty',
      'stderr',
    );
  }
}
