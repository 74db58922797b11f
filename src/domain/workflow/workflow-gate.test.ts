import { describe, expect, it } from 'vitest';
import { checkTransition, statesOf } from '../lifecycle/lifecycle.ts';
import { serviceLifecycle } from '../machine/service-state.ts';
import type { GatedMachine } from '../operation/gate.ts';
import { DECOMMISSION_MODE_NAMES } from './stage.ts';
import {
  serviceStatesByHand,
  type WorkflowKind,
  whyNotSetService,
  whyNotWorkflow,
  workflowStarts,
} from './workflow-gate.ts';

const KINDS: WorkflowKind[] = ['ONBOARD', 'DRAIN', 'REMOVE', ...DECOMMISSION_MODE_NAMES];
const PLACES = [null, ...statesOf(serviceLifecycle)];

const machine = (changed: Partial<GatedMachine>): GatedMachine => ({
  machineId: 'm-1',
  phase: 'READY',
  service: null,
  conditions: {},
  activeOperationId: null,
  ...changed,
});

describe('where a workflow starts', () => {
  it.each(KINDS.flatMap((kind) => PLACES.map((service) => ({ kind, service }))))(
    '$kind in $service: it starts, or names what to do first',
    ({ kind, service }) => {
      const starts = workflowStarts(kind)[service ?? 'none'];
      const reason = whyNotWorkflow(kind, machine({ service }));
      expect(reason === null).toBe(starts !== undefined);
      if (reason !== null) expect(reason).toMatch(/m-1.*\.$/);
    },
  );

  it('makes transitions that the table has, by their owner', () => {
    for (const kind of KINDS) {
      for (const [place, { service }] of Object.entries(workflowStarts(kind))) {
        if (!service || place === 'none') continue;
        const from = statesOf(serviceLifecycle).find((state) => state === place);
        expect(from && checkTransition(serviceLifecycle, from, service.to, service.owner).to).toBe(
          service.to,
        );
      }
    }
  });

  it('brings a retired machine back or takes it out for good', () => {
    const retired = machine({ service: 'retired' });
    const takers = KINDS.filter((kind) => whyNotWorkflow(kind, retired) === null);
    expect(takers).toEqual(['ONBOARD', 'REMOVE', 'full_decommission']);
  });

  it('names what to do first', () => {
    expect(whyNotWorkflow('REMOVE', machine({ service: 'active' }))).toBe(
      'A removal needs service state retired or removing, and m-1 is active. Drain it first.',
    );
    expect(whyNotWorkflow('DRAIN', machine({}))).toContain('and m-1 has none. It was never in service.');
    const busy = machine({ service: 'active', activeOperationId: 'op-1' });
    expect(whyNotWorkflow('DRAIN', busy)).toContain('cancel it first');
  });

  it('does not onboard a flagged machine, but takes one out of service', () => {
    const RMA = { status: true, reason: 'Flagged', message: '', lastTransition: '' };
    expect(whyNotWorkflow('ONBOARD', machine({ conditions: { RMA } }))).toContain('flagged RMA');
    expect(whyNotWorkflow('DRAIN', machine({ service: 'active', conditions: { RMA } }))).toBeNull();
  });
});

describe('what a person may set by hand', () => {
  const by = (service: GatedMachine['service']) => serviceStatesByHand(service).map(({ to }) => to);

  it('is the table of docs/maas.md', () => {
    expect(Object.fromEntries(PLACES.map((service) => [service ?? 'none', by(service)]))).toEqual({
      none: [],
      bootstrap_issued: [],
      enrolling: ['quarantined'],
      active: [],
      offline: [],
      quarantined: ['active'],
      draining: ['offline'],
      retired: ['offline'],
      removing: ['retired'],
      deleted: [],
    });
  });

  it('is nothing while an operation works on the machine', () => {
    expect(whyNotSetService(machine({ service: 'retired' }))).toBeNull();
    expect(whyNotSetService(machine({ service: 'retired', activeOperationId: 'op-1' }))).toContain('op-1');
    expect(whyNotSetService(machine({ service: 'active' }))).toContain('active');
    expect(whyNotSetService(machine({}))).toContain('Onboard it first');
  });
});
