/** The generic proofs for the steps of a migration, on an identity that is a value: twice, and broken off at each point. */
import { describe, expect, it } from 'vitest';
import { NO_CONTROL_PLANE } from '../control-plane.fixture.ts';
import type { ControlPlane, NodeServices } from '../control-plane.ts';
import { type Disturbance, type End, StepRun } from '../step-proof.fixture.ts';
import type { HardwareMoves, HardwareView } from './hardware-moves.ts';

const OLD: HardwareView = {
  state: 'active',
  macAddresses: ['52:54:00:00:00:01'],
  bmcEndpoint: 'old-bmc',
  facts: {
    hostname: 'web-7',
    vendor: '',
    model: '',
    serialNumber: 'OLD',
    systemUuid: '',
    arch: '',
    bootMode: '',
    ipAddress: '',
  },
  editedFacts: [],
  seenAt: '2026-01-01T00:00:00.000Z',
};
const REPLACEMENT = { mac_addresses: ['52:54:00:00:00:02'], serial_number: 'NEW', bmc_endpoint: 'new-bmc' };
const MOVED: HardwareView = {
  ...OLD,
  state: 'migrating',
  macAddresses: REPLACEMENT.mac_addresses,
  bmcEndpoint: 'new-bmc',
  facts: { ...OLD.facts, serialNumber: 'NEW' },
};

class Identity {
  view: HardwareView;
  hasAgent = true;
  moves = 0;

  constructor(view: HardwareView) {
    this.view = view;
  }

  controlPlane(): ControlPlane {
    const hardware: HardwareMoves = {
      read: async () => this.view,
      replace: async (_call, { mac_addresses: macAddresses, bmc_endpoint: bmcEndpoint }) => {
        if (this.view.state !== 'migrating') this.moves += 1;
        this.view = { ...MOVED, macAddresses, bmcEndpoint };
      },
      restore: async (_call, before) => {
        this.view = before;
      },
      finish: async () => {
        this.view = { ...this.view, state: 'active' };
      },
    };
    const forgetSecrets = async () => {
      this.hasAgent = false;
    };
    return {
      ...NO_CONTROL_PLANE,
      hardware,
      nodeServices: { forgetSecrets } as unknown as NodeServices,
    };
  }
}

async function runStep(kind: string, start: HardwareView, disturbance: Disturbance = {}) {
  const identity = new Identity(start);
  const config = kind === 'finish-migration' ? {} : REPLACEMENT;
  const controlPlane = () => identity.controlPlane();
  const run = new StepRun({ kind, config, stepMs: 0, controlPlane }, disturbance);
  const end: End = await run.toTheEnd();
  return { end, identity, points: run.points };
}

const STEPS = [
  ['replace-hardware', OLD, MOVED],
  ['await-replacement', MOVED, MOVED],
  ['finish-migration', MOVED, { ...MOVED, state: 'active' }],
] as const;

describe.each(STEPS)('%s', (kind, start, wanted) => {
  it('does what it is for, and again changes nothing', async () => {
    const { end, identity } = await runStep(kind, start);
    expect(end).toMatchObject({ status: 'completed', attempts: 1 });
    expect(identity.view).toEqual(wanted);
    const again = await runStep(kind, identity.view);
    expect(again.identity.view).toEqual(
      kind === 'replace-hardware' ? { ...wanted, state: 'migrating' } : wanted,
    );
  });

  it.each([100, 10_000])('may die at any point (taken over after %i ms)', async (leaseMs) => {
    const { points, identity: expected } = await runStep(kind, start);
    expect(points).toBeGreaterThan(1);
    for (let dieAt = 0; dieAt < points; dieAt += 1) {
      const { end, identity } = await runStep(kind, start, { dieAt, leaseMs });
      expect(end.status, `death at point ${dieAt}`).toBe('completed');
      expect([identity.view, identity.hasAgent, identity.moves], `death at point ${dieAt}`).toEqual([
        expected.view,
        expected.hasAgent,
        expected.moves,
      ]);
    }
  });

  it('may be canceled at any point, and leads back as long as nothing is finished', async () => {
    const { points } = await runStep(kind, start);
    for (let cancelAt = 0; cancelAt < points; cancelAt += 1) {
      const { end, identity } = await runStep(kind, start, { cancelAt });
      if (end.status === 'completed') {
        expect(identity.view).toEqual(wanted);
        continue;
      }
      expect(end.status, `cancel at point ${cancelAt}`).toBe('cancelled');
      if (kind === 'replace-hardware') expect(identity.view, `cancel at point ${cancelAt}`).toEqual(OLD);
    }
  });
});

describe('await-replacement', () => {
  it('stops at hardware that reports to be another, and names both', async () => {
    const other = { ...MOVED, facts: { ...MOVED.facts, serialNumber: 'OTHER' } };
    const { end } = await runStep('await-replacement', other);
    expect(end).toMatchObject({ status: 'failed_manual_intervention', error: 'HARDWARE_MISMATCH' });
  });
});
