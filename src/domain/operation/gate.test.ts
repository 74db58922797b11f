import { describe, expect, it } from 'vitest';
import type { Conditions } from '../condition/condition.ts';
import type { Phase } from '../machine/phase.ts';
import { type GatedMachine, whyNot } from './gate.ts';
import { PHASE_GATED_TYPE_NAMES, PHASE_GATED_TYPES } from './phase-gated-type.ts';

const flagged = (type: 'RMA' | 'Retired'): Conditions => ({
  [type]: { status: true, reason: 'Flagged', message: '', lastTransition: '2026-01-30T10:00:00Z' },
});
const machine = (changed: Partial<GatedMachine>): GatedMachine => ({
  machineId: 'm-1',
  phase: 'MAINTENANCE',
  service: null,
  conditions: {},
  activeOperationId: null,
  ...changed,
});

describe('what a machine takes', () => {
  const phases: Phase[] = ['FACTORY_READY', 'READY', 'MAINTENANCE'];
  it.each(PHASE_GATED_TYPE_NAMES.flatMap((type) => phases.map((phase) => ({ type, phase }))))(
    '$type in $phase, by the table',
    ({ type, phase }) => {
      const allowed: readonly Phase[] = PHASE_GATED_TYPES[type].phases;
      expect(whyNot(type, machine({ phase })) === null).toBe(allowed.includes(phase));
    },
  );

  it('names what to do first', () => {
    expect(whyNot('REIMAGE', machine({ phase: 'READY' }))).toBe(
      'REIMAGE needs MAINTENANCE, and m-1 is READY. Enter maintenance first.',
    );
    expect(whyNot('REBOOT', machine({ phase: 'FACTORY_READY' }))).toContain('Enter maintenance first.');
    expect(whyNot('REBOOT', machine({ activeOperationId: 'op-1' }))).toContain('cancel it first');
  });

  it('nothing while it is flagged or removed', () => {
    for (const type of PHASE_GATED_TYPE_NAMES) {
      expect(whyNot(type, machine({ conditions: flagged('RMA') }))).toContain('flagged RMA');
      expect(whyNot(type, machine({ conditions: flagged('Retired') }))).toContain('flagged Retired');
      expect(whyNot(type, machine({ service: 'deleted' }))).toContain('removed for good');
    }
  });
});
