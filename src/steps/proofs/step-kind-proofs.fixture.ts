/** Scenarios of each step kind, by what they are about. */

import { expect } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import { BMC_PROOFS } from './bmc-proofs.fixture.ts';
import { CLUSTER_PROOFS } from './cluster-proofs.fixture.ts';
import {
  BURN_IN_PROOFS,
  HARDWARE_PROOFS,
  isAtRest,
  keptEvidence,
  recordedInventories,
} from './hardware-proofs.fixture.ts';
import type { Proof } from './proof.fixture.ts';

const COMMAND = 'apt-get -y upgrade';
const MEANT_FOR_PROD = { spec: { ...sampleMachine().spec, target_cluster_ref: 'prod' } };

export const PROOFS: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  ...BMC_PROOFS,
  netboot: {
    'to PXE': {
      config: { mode: 'PXE', image: 'debian-12' },
      leaves: { body: { bootDevice: 'pxe' }, tasks: ['netboot pxe'] },
      undone: ({ bootDevice, task }) => bootDevice === 'disk' && task === null,
    },
    'to disk': {
      config: { mode: 'DISK' },
      world: { bootDevice: 'pxe' },
      leaves: { body: { bootDevice: 'disk' }, tasks: ['netboot disk'] },
      undone: ({ bootDevice, task }) => bootDevice === 'disk' && task === null,
    },
  },
  reboot: {
    'over the BMC': {
      config: {},
      leaves: { body: { bootCount: 2, power: 'on' }, tasks: ['reboot'] },
      unstoppable: true,
      undone: ({ power }) => power === 'on',
    },
    'over SSH': {
      config: { mode: 'ssh' },
      leaves: { body: { bootCount: 2 }, tasks: ['reboot'] },
      unstoppable: true,
      undone: ({ power }) => power === 'on',
    },
    'by switching the power': {
      config: {},
      switchesPower: true,
      leaves: { body: { bootCount: 2, power: 'on' }, tasks: ['shutdown', 'reboot'] },
      // Never left off, wherever the cancel struck.
      undone: ({ power, task }) => power === 'on' && task === null,
    },
    'by switching the power, of a machine that is off': {
      config: {},
      switchesPower: true,
      world: { power: 'off' },
      leaves: { body: { bootCount: 2, power: 'on' }, tasks: ['reboot'] },
      undone: ({ task }) => task === null,
    },
  },
  repave: {
    'of a machine in a cluster': {
      config: { image: 'debian-12' },
      world: { image: 'old', bootDevice: 'pxe', clusterRef: 'prod' },
      leaves: {
        body: { image: 'debian-12', bootDevice: 'disk', clusterRef: '' },
        tasks: ['repave debian-12'],
      },
      // Not started, stopped half-way, or complete; a write never goes on unnoticed.
      undone: ({ image, task }) => ['old', '', 'debian-12'].includes(image) && task === null,
    },
  },
  'boot-eraser': {
    'of a machine with an image': {
      config: {},
      world: { image: 'old', clusterRef: 'prod' },
      leaves: { body: { image: '', clusterRef: '' }, tasks: ['erase'] },
      goesOn: true,
      unstoppable: true,
      undone: ({ image, task }) => ['old', ''].includes(image) && task === null,
    },
  },
  'erase-disks': {
    'by the BMC': {
      config: { by: 'bmc' },
      world: { image: 'old', clusterRef: 'prod' },
      controlPlane: keptEvidence,
      leaves: { body: { image: '', clusterRef: '', power: 'on' }, tasks: ['drive-erase sda'] },
      undone: ({ image, task }) => ['old', ''].includes(image) && task === null,
    },
    'of a machine with an image': {
      config: { overwrite: 'whole' },
      controlPlane: keptEvidence,
      world: { image: 'old', clusterRef: 'prod' },
      leaves: { body: { image: '', clusterRef: '', power: 'off' }, tasks: ['erase'] },
      // A started erasure always runs to its end, never half.
      unstoppable: true,
      undone: ({ image, task }) => ['old', ''].includes(image) && task === null,
    },
  },
  join: {
    'a cluster': {
      config: { cluster_ref: 'prod' },
      leaves: { body: { clusterRef: 'prod' }, tasks: ['join prod'] },
    },
  },
  verify: {
    'a node that is ready': {
      config: { cluster_ref: 'prod' },
      world: { clusterRef: 'prod' },
      leaves: { tasks: [] },
    },
  },
  phase: {
    'to READY': { config: { phase: 'READY' }, leaves: { tasks: [] } },
    'to where it is': { config: { phase: 'MAINTENANCE' }, leaves: { tasks: [] } },
  },
  ssh: {
    'that may be repeated': {
      config: { command: COMMAND, repeatable: true },
      onTheLine: true,
      harmless: true,
      leaves: { tasks: [`exec ${COMMAND}`] },
    },
    'that may run only once': {
      config: { command: COMMAND },
      onTheLine: true,
      parksWhenUnknown: true,
      leaves: { tasks: [`exec ${COMMAND}`] },
    },
    'whose check passes': {
      config: { command: COMMAND, check: 'true' },
      onTheLine: true,
      harmless: true,
      leaves: { tasks: ['exec true'] },
    },
  },
  net: {
    'with a file': {
      config: { action: 'apply', netplan: 'network: {}' },
      onTheLine: true,
      harmless: true,
      leaves: {
        tasks: [
          expect.stringMatching(/^exec .*cat > \/etc\/netplan\/90-ingot.yaml.new && mv /s),
          expect.stringMatching(/^exec .*as netplan apply$/s),
        ],
      },
    },
    verified: {
      config: { action: 'verify' },
      onTheLine: true,
      harmless: true,
      leaves: { tasks: ['exec ip -brief address && ip route'] },
    },
  },
  inspect: {
    'of a machine that is up': {
      config: {},
      onTheLine: true,
      harmless: true,
      controlPlane: recordedInventories,
      leaves: { tasks: [] },
      undone: ({ task }) => task === null,
    },
    'in band, by the installer': {
      config: { in_band: true },
      controlPlane: recordedInventories,
      leaves: { tasks: ['burn-in inspection'] },
      undone: isAtRest,
    },
  },
  media: {
    'inserted into an empty drive': {
      config: { action: 'insert', url: 'http://site/rescue.iso' },
      leaves: { body: { media: 'http://site/rescue.iso' }, tasks: ['media http://site/rescue.iso'] },
      undone: ({ media, task }) => media === '' && task === null,
    },
    'inserted in place of another': {
      config: { action: 'insert', url: 'http://site/rescue.iso' },
      world: { media: 'http://site/old.iso' },
      leaves: { body: { media: 'http://site/rescue.iso' }, tasks: ['media http://site/rescue.iso'] },
      undone: ({ media, task }) => media !== 'http://site/rescue.iso' && task === null,
    },
    ejected: {
      config: { action: 'eject' },
      world: { media: 'http://site/rescue.iso' },
      leaves: { body: { media: '' }, tasks: [expect.stringMatching(/^media/)] },
    },
  },
  ...HARDWARE_PROOFS,
  'burn-in': BURN_IN_PROOFS,
  'verify-hardware': {
    'of a machine as it is expected': {
      config: {},
      controlPlane: recordedInventories,
      leaves: { tasks: [] },
      undone: ({ task }) => task === null,
    },
  },
  cluster: CLUSTER_PROOFS,
  rma: {
    'drain-check of a machine that belongs to no cluster': {
      config: { action: 'drain-check' },
      leaves: { tasks: [] },
      undone: ({ task }) => task === null,
    },
    'drain-check of a machine that is not in its cluster': {
      config: { action: 'drain-check' },
      machine: MEANT_FOR_PROD,
      leaves: { tasks: [] },
      undone: ({ task }) => task === null,
    },
    'drain-check of a machine in service': {
      config: { action: 'drain-check' },
      machine: MEANT_FOR_PROD,
      world: { clusterRef: 'prod' },
      leaves: { body: { drained: true, cordonedBy: 'op-1' }, tasks: ['cordon op-1', 'drain'] },
      undone: ({ cordonedBy, drained }) => cordonedBy === '' && !drained,
    },
    'graceful-shutdown': {
      config: { action: 'graceful-shutdown' },
      leaves: { body: { power: 'off' }, tasks: ['shutdown'] },
    },
    'mark-rma': { config: { action: 'mark-rma' }, leaves: { tasks: [] } },
  },
};
