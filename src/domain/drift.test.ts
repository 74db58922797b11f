import { describe, expect, it } from 'vitest';
import { changeByDrift } from './drift.ts';
import { sampleMachine } from './machine.fixture.ts';
import type { Machine } from './machine.ts';
import { type ServiceState, serviceLifecycle } from './service-state.ts';

const UPSTREAM = ['New', 'Commissioning', 'Ready', 'Allocated', 'Deploying', 'Deployed', 'Broken', 'absent'];
const SERVICES = Object.keys(serviceLifecycle.states) as ServiceState[];

/** Where drift moves it; undefined: nowhere. */
function movedTo(fields: Partial<Machine>, state: string, quarantinedByDrift = false) {
  return changeByDrift(sampleMachine(fields), state, quarantinedByDrift).service?.to;
}

describe('what an upstream says', () => {
  it.each(SERVICES)(
    'of a node that is %s quarantines it only where §6.2 expects something else',
    (service) => {
      const expectsDeployed = service === 'active' || service === 'offline';
      for (const state of UPSTREAM) {
        const isDrift = expectsDeployed && state !== 'Deployed';
        expect([state, movedTo({ service }, state)]).toEqual([state, isDrift ? 'quarantined' : undefined]);
      }
    },
  );

  it('is given as the reason, by the owner that the table wants', () => {
    expect(changeByDrift(sampleMachine({ service: 'active' }), 'Broken', false)).toEqual({
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
      expect(movedTo(back, state, true)).toBeUndefined();
    }
  });
});

describe('a quarantined node', () => {
  const quarantined = { service: 'quarantined', presence: 'ready' } as const;

  it('is active again when the drift that put it there is over and its agent speaks', () => {
    expect(movedTo(quarantined, 'Deployed', true)).toBe('active');
  });

  it('stays where an operator put it, whatever the upstream says', () => {
    for (const state of UPSTREAM) expect(movedTo(quarantined, state, false)).toBeUndefined();
  });

  it('stays while the upstream says anything else, or its agent is not heard', () => {
    for (const state of UPSTREAM.filter((known) => known !== 'Deployed'))
      expect(movedTo(quarantined, state, true)).toBeUndefined();
    for (const presence of [null, 'pending', 'registered', 'expired'] as const)
      expect(movedTo({ ...quarantined, presence }, 'Deployed', true)).toBeUndefined();
  });
});
