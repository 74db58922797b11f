import type { Machine } from './machine.ts';
import { EMPTY_SPEC } from './spec/machine-spec.ts';

/** A machine that nothing has happened to yet. */
export function sampleMachine(fields: Partial<Machine> = {}): Machine {
  const at = new Date('2026-01-01T00:00:00.000Z');
  return {
    machineId: 'm-1',
    labels: {},
    spec: { ...EMPTY_SPEC, provider: 'fake' },
    phase: 'FACTORY_READY',
    service: null,
    install: null,
    presence: null,
    pool: null,
    conditions: {},
    observed: null,
    maintenance: null,
    hardware: null,
    lemonScore: 0,
    locating: null,
    activeOperationId: null,
    activeOperationType: null,
    enteredServiceAt: null,
    effectiveSince: at,
    serviceSince: at,
    installSince: at,
    createdAt: at,
    updatedAt: at,
    ...fields,
  };
}
