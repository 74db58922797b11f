import { describe, expect, it } from 'vitest';
import { sampleMachine } from '../machine/machine.fixture.ts';
import type { Machine } from '../machine/machine.ts';
import { applyChange } from '../machine/machine-change.ts';
import { type ServiceState, serviceLifecycle } from '../machine/service-state.ts';
import { ONBOARDING } from '../workflow/stage.ts';
import { changeByDrift, driftAtStage, EXPECTED, type QuarantinedBy, upstreamDisagreement } from './drift.ts';

const UPSTREAM = ['New', 'Commissioning', 'Ready', 'Allocated', 'Deploying', 'Deployed', 'Broken', 'absent'];
const SERVICES = Object.keys(serviceLifecycle.states) as ServiceState[];

/** Where drift moves it; undefined: nowhere. */
function movedTo(fields: Partial<Machine>, state: string, quarantinedBy: QuarantinedBy = null) {
  return changeByDrift(sampleMachine(fields), state, quarantinedBy).service?.to;
}

/** The table of docs/maas.md, written again by hand; a state that it does not name is not expected. */
const PRINTED: Readonly<Record<ServiceState, readonly string[]>> = {
  bootstrap_issued: UPSTREAM,
  enrolling: ['New', 'Commissioning', 'Ready', 'Allocated', 'Deploying', 'Deployed'],
  active: ['Deployed'],
  offline: ['Deployed'],
  quarantined: UPSTREAM,
  draining: ['Deployed', 'Ready'],
  retired: ['Deployed', 'Ready'],
  removing: ['Ready', 'absent'],
  deleted: UPSTREAM,
};

describe('what an upstream says', () => {
  it.each(SERVICES)('of a node that is %s is expected where §6.2 prints it, and nowhere else', (service) => {
    const { states }: { states: readonly string[] | null } = EXPECTED[service];
    expect(UPSTREAM.filter((state) => states === null || states.includes(state)).sort()).toEqual(
      [...PRINTED[service]].sort(),
    );
  });

  it.each(SERVICES)(
    'of a node that is %s quarantines it only where its lifecycle has that transition',
    (service) => {
      for (const state of UPSTREAM) {
        const isDrift = (service === 'active' || service === 'offline') && state !== 'Deployed';
        expect([state, movedTo({ service }, state)]).toEqual([state, isDrift ? 'quarantined' : undefined]);
      }
    },
  );

  it('of a retired node sets NeedsIntervention once, until it fits again', () => {
    const by = { at: new Date(0), actor: { kind: 'system', id: 'drift' }, operationId: null } as const;
    const observe = (machine: Machine, state: string) =>
      applyChange(machine, changeByDrift(machine, state, null), by);
    const drifted = observe(sampleMachine({ service: 'retired' }), 'absent');
    expect(drifted.machine).toMatchObject({
      service: 'retired',
      conditions: {
        NeedsIntervention: {
          status: true,
          reason: 'UpstreamDrift',
          message:
            'the upstream says absent; a node that is retired should be Deployed or Ready or Releasing or Disk erasing',
        },
      },
    });
    expect(observe(drifted.machine, 'absent').events).toEqual([]);
    const back = observe(drifted.machine, 'Ready');
    expect(back.machine.conditions.NeedsIntervention).toMatchObject({ status: false });
    expect(observe(back.machine, 'Ready').events).toEqual([]);
  });

  it('does not replace another reason of NeedsIntervention', () => {
    const flagged = { status: true, reason: 'Flagged', message: 'fan', lastTransition: '' };
    const machine = { service: 'retired', conditions: { NeedsIntervention: flagged } } as const;
    for (const state of UPSTREAM) expect(changeByDrift(sampleMachine(machine), state, null)).toEqual({});
  });

  it('is given as the reason, by the owner that the table wants', () => {
    expect(changeByDrift(sampleMachine({ service: 'active' }), 'Broken', null)).toEqual({
      service: {
        to: 'quarantined',
        owner: 'reconciler',
        comment: 'the upstream says Broken; a node that is active should be Deployed',
      },
    });
  });

  it('of a machine that is in no service, or that an operation works on, is only recorded', () => {
    for (const state of UPSTREAM) {
      expect(movedTo({ service: null }, state)).toBeUndefined();
      expect(movedTo({ service: 'active', activeOperationId: 'op-1' }, state)).toBeUndefined();
      const back = { service: 'quarantined', presence: 'ready', activeOperationId: 'op-1' } as const;
      expect(movedTo(back, state, 'system')).toBeUndefined();
    }
  });
});

describe('a quarantined node', () => {
  const quarantined = { service: 'quarantined', presence: 'ready' } as const;

  it('is active again when the drift that put it there is over and its agent is ready', () => {
    expect(movedTo(quarantined, 'Deployed', 'system')).toBe('active');
  });

  it('stays where an operator put it, whatever the upstream says', () => {
    for (const state of UPSTREAM) expect(movedTo(quarantined, state, 'operator')).toBeUndefined();
  });

  it('stays while the upstream reports another state, or its agent is not ready', () => {
    for (const state of UPSTREAM.filter((known) => known !== 'Deployed'))
      expect(movedTo(quarantined, state, 'system')).toBeUndefined();
    for (const presence of [null, 'pending', 'registered', 'expired'] as const)
      expect(movedTo({ ...quarantined, presence }, 'Deployed', 'system')).toBeUndefined();
  });

  it('stays while something else is wrong, such as its onboarding', () => {
    const failed = { status: true, reason: 'OnboardFailed', message: '', lastTransition: '' };
    const conditions = { NeedsIntervention: failed };
    expect(movedTo({ ...quarantined, conditions }, 'Deployed', 'system')).toBeUndefined();
  });
});

describe('Provisioned', () => {
  const by = { at: new Date(0), actor: { kind: 'system', id: 'drift' }, operationId: null } as const;
  const provisioned = (status: boolean, reason: string): Machine['conditions'] => ({
    Provisioned: { status, reason, message: '', lastTransition: '' },
  });
  const provisionedAfter = (fields: Partial<Machine>, ...states: string[]) =>
    states.reduce(
      (machine, state) => applyChange(machine, changeByDrift(machine, state, null), by).machine,
      sampleMachine(fields),
    ).conditions.Provisioned;

  it.each(UPSTREAM.filter((state) => state !== 'Deployed'))(
    'is false while the upstream says %s, and true again with Deployed',
    (state) => {
      for (const service of [null, 'active', 'retired', 'quarantined'] as const) {
        const machine = { service, conditions: provisioned(true, 'Deployed') };
        expect(provisionedAfter(machine, state)).toMatchObject({
          status: false,
          reason: 'UpstreamNotDeployed',
          message: `the upstream says ${state}`,
        });
        expect(provisionedAfter(machine, state, 'Deployed')).toMatchObject({
          status: true,
          reason: 'Deployed',
        });
      }
    },
  );

  it('says what the upstream says now', () => {
    const machine = { service: 'quarantined', conditions: provisioned(true, 'Deployed') } as const;
    expect(provisionedAfter(machine, 'Releasing', 'Ready')?.message).toBe('the upstream says Ready');
  });

  it('stays as an operation left it: false, unknown, or while one works on it', () => {
    expect(
      provisionedAfter({ conditions: provisioned(false, 'Released') }, 'Ready', 'Deployed'),
    ).toMatchObject({
      status: false,
      reason: 'Released',
    });
    expect(provisionedAfter({ service: 'active' }, 'Ready')).toBeUndefined();
    const busy = { activeOperationId: 'op-1', conditions: provisioned(true, 'Deployed') };
    expect(provisionedAfter(busy, 'Ready')?.status).toBe(true);
  });

  it('is not made false by an unknown state', () => {
    expect(
      provisionedAfter({ service: 'active', conditions: provisioned(true, 'Deployed') }, 'Unknown')?.status,
    ).toBe(true);
  });
});

describe('an upstream that disagrees', () => {
  const observed = { source: 'site-a', state: 'Broken', power: 'off', upstreamId: 'x', at: '' } as const;

  it('says why a node should not be active, and what is missing of one that is quarantined', () => {
    const why = 'site-a says Broken, and a node that is active should be Deployed';
    expect(upstreamDisagreement({ observed }, 'active')).toBe(why);
    expect(upstreamDisagreement({ observed }, 'quarantined')).toBe(why);
    expect(upstreamDisagreement({ observed: { ...observed, state: 'absent' } }, 'active')).toContain(
      'site-a has no record of it',
    );
  });

  it('says nothing where it agrees, where there is none, or where the machine is not taken into use there', () => {
    expect(upstreamDisagreement({ observed: { ...observed, state: 'Deployed' } }, 'active')).toBeNull();
    expect(upstreamDisagreement({ observed: null }, 'active')).toBeNull();
    expect(upstreamDisagreement({ observed: { ...observed, upstreamId: '' } }, 'active')).toBeNull();
    expect(upstreamDisagreement({ observed }, null)).toBeNull();
  });

  it('does not take out what an operator put in, before it says something else', () => {
    const accepted = { by: 'operator:alice', reason: 'only a flag', at: '' };
    for (const service of ['active', 'offline'] as const) {
      const machine = { service, observed: { ...observed, accepted } };
      expect(movedTo(machine, 'Broken')).toBeUndefined();
      expect(movedTo(machine, 'Ready')).toBe('quarantined');
      expect(movedTo({ service, observed }, 'Broken')).toBe('quarantined');
    }
  });
});

describe('an onboarding that failed', () => {
  it('can be tried again where its machine still is where the stage left it', () => {
    expect(driftAtStage('wait_for_ready', 'Failed commissioning')).toBeNull();
    expect(driftAtStage('configure_storage', 'Ready')).toBeNull();
    expect(driftAtStage('wait_for_agent_enrollment', 'Deployed')).toBeNull();
    expect(driftAtStage('load_site_config', 'absent')).toBeNull();
    expect(driftAtStage('no_such_stage', 'absent')).toBeNull();
  });

  it('needs a human where its machine vanished, broke, or went back', () => {
    for (const stage of ONBOARDING.slice(3)) {
      for (const state of ['absent', 'Broken', 'Missing', 'Retired'])
        expect(driftAtStage(stage, state)).toMatch(`the upstream says ${state}; at ${stage} it should be`);
    }
    expect(driftAtStage('wait_for_hardware_sync_healthy', 'Ready')).toBe(
      'the upstream says Ready; at wait_for_hardware_sync_healthy it should be Deployed',
    );
  });
});
