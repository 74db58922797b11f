/** Steps that read and change a machine's hardware. */
import { expect } from 'vitest';
import type { HardwareInventory } from '../../domain/install/hardware-inventory.ts';
import { memoryEvidence, NO_CONTROL_PLANE } from '../control-plane.fixture.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { End } from '../step-proof.fixture.ts';
import type { Proof } from './proof.fixture.ts';

/** A control plane that keeps inventories as the store does: by the key of the call that recorded them. */
export function recordedInventories(): ControlPlane {
  const recorded = new Map<string, HardwareInventory>();
  return {
    ...NO_CONTROL_PLANE,
    inventories: {
      recordedBy: async ({ key }) => {
        const inventory = recorded.get(key);
        return inventory === undefined ? null : { version: 1, inventory, changes: null };
      },
      record: async ({ key }, _source, inventory) => {
        recorded.set(key, inventory);
      },
      verdict: async () => ({ profiles: ['hgx'], differences: [] }),
    },
  };
}

export const keptEvidence = (): ControlPlane => ({ ...NO_CONTROL_PLANE, evidence: memoryEvidence() });
const OS_VOLUME = { name: 'os', level: 'RAID1', drives: ['D1', 'D2'], capacity_bytes: 0 } as const;
const DATA_VOLUME = {
  name: 'data',
  level: 'RAID5',
  drives: ['D3', 'D4', 'D5'],
  capacity_bytes: 0,
} as const;
export const isAtRest = ({ power, task }: End['body']) => power === 'on' && task === null;

export const HARDWARE_PROOFS: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  'bios-settings': {
    'that differ': {
      config: { attributes: { LogicalProc: 'Disabled' } },
      leaves: {
        body: {
          bios: { LogicalProc: 'Disabled', SriovGlobalEnable: 'Disabled', WorkloadProfile: 'Balanced' },
        },
        tasks: ['bios {"LogicalProc":"Disabled"}', 'reboot'],
      },
      unstoppable: true,
      undone: isAtRest,
    },
    'that differ, by switching the power': {
      config: { attributes: { LogicalProc: 'Disabled' } },
      switchesPower: true,
      leaves: { body: { bootCount: 2 }, tasks: ['bios {"LogicalProc":"Disabled"}', 'shutdown', 'reboot'] },
      undone: isAtRest,
    },
    'that wait for a reset': {
      config: { attributes: { LogicalProc: 'Disabled' } },
      world: { biosPending: { LogicalProc: 'Disabled' } },
      leaves: { body: { bootCount: 2 }, tasks: ['reboot'] },
      unstoppable: true,
      undone: isAtRest,
    },
    'that are as wanted': {
      config: { attributes: { LogicalProc: 'Enabled', SriovGlobalEnable: 'Disabled' } },
      leaves: { body: { bootCount: 1 }, tasks: [] },
      undone: isAtRest,
    },
  },
  'boot-order': {
    'that differs': {
      config: { order: ['pxe'] },
      leaves: {
        body: { bootOrder: ['pxe', 'disk', 'http'], bootCount: 1 },
        tasks: ['boot-order ["pxe","disk","http"]'],
      },
      undone: isAtRest,
    },
    'that is as wanted': {
      config: { order: ['disk', 'pxe'] },
      leaves: { tasks: [] },
      undone: isAtRest,
    },
  },
  'firmware-update': {
    'to another version': {
      config: { component: 'BIOS', version: '2.0', image_url: 'http://site/bios', sha256: '0'.repeat(64) },
      leaves: { body: { firmware: { BIOS: '2.0', BMC: '1.0' } }, tasks: ['firmware {"BIOS":"2.0"}'] },
      // What has started is waited for: it is never half written.
      undone: ({ firmware, task }) => ['1.0', '2.0'].includes(firmware.BIOS ?? '') && task === null,
    },
    'to the version that it has': {
      config: { component: 'BIOS', version: '1.0', image_url: 'http://site/bios', sha256: '0'.repeat(64) },
      leaves: { tasks: [] },
      undone: isAtRest,
    },
  },
  raid: {
    'of two volumes in place of another': {
      config: { volumes: [OS_VOLUME, DATA_VOLUME], destroy_existing: true },
      world: { volumes: [{ ...OS_VOLUME, name: 'old' }] },
      leaves: {
        body: { volumes: [OS_VOLUME, DATA_VOLUME] },
        tasks: [
          expect.stringMatching(/^volume .*"kind":"delete".*"name":"old"/),
          expect.stringMatching(/^volume .*"kind":"create".*"name":"os"/),
          expect.stringMatching(/^volume .*"kind":"create".*"name":"data"/),
        ],
      },
      undone: isAtRest,
    },
    'that is there': {
      config: { volumes: [OS_VOLUME] },
      world: { volumes: [OS_VOLUME] },
      leaves: { tasks: [] },
      undone: isAtRest,
    },
  },
};

export const BURN_IN_PROOFS: Readonly<Record<string, Proof>> = {
  'of two parts': {
    config: { tests: ['cpu', 'memory'], seconds: 60 },
    leaves: { tasks: ['burn-in cpu,memory'] },
    undone: isAtRest,
  },
};
