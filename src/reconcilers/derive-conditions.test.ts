import { describe, expect, it } from 'vitest';
import type { Conditions } from '../domain/condition.ts';
import { sampleMachine } from '../domain/machine.fixture.ts';
import type { Machine } from '../domain/machine.ts';
import { deriveConditions, type Sightings } from './derive-conditions.ts';

const PATIENCE = 3;
const UP = { ok: true, reason: 'PingOK', message: 'up' };
const DOWN = { ok: false, reason: 'NoAnswer', message: 'down' };
const JOINED = { ok: true, reason: 'NodeReady', message: 'Ready in cluster-a' };
const NOT_JOINED = { ok: false, reason: 'NotJoined', message: 'not in cluster-a' };

/** `true`, or `[false, 'Why']`. */
type Said = boolean | readonly [status: boolean, reason: string];

function said(words: Readonly<Record<string, Said>>): Conditions {
  return Object.fromEntries(
    Object.entries(words).map(([type, word]) => {
      const [status, reason] = typeof word === 'boolean' ? [word, 'Before'] : word;
      return [type, { status, reason, message: '', lastTransition: '2026-01-01T00:00:00.000Z' }];
    }),
  );
}

interface Case {
  readonly it: string;
  readonly machine?: Partial<Machine>;
  readonly seen?: Partial<Sightings>;
  readonly misses?: { readonly host?: number; readonly bmc?: number };
  /** Type, status and reason of each change. */
  readonly says: ReadonlyArray<readonly [string, boolean, string]>;
}

function derive({ machine, seen, misses }: Omit<Case, 'it' | 'says'>) {
  return deriveConditions(
    sampleMachine(machine),
    { host: null, bmc: null, cluster: null, ...seen },
    { host: 0, bmc: 0, ...misses },
    PATIENCE,
  );
}

function check(cases: readonly Case[]): void {
  it.each(cases)('$it', ({ says, ...rest }) => {
    expect(derive(rest).changes.map(({ type, status, reason }) => [type, status, reason])).toEqual(says);
  });
}

const IN_SERVICE = { phase: 'READY', conditions: said({ Provisioned: true, Reachable: true }) } as const;

describe('Reachable', () => {
  check([
    { it: 'is true as soon as the host answers', seen: { host: UP }, says: [['Reachable', true, 'PingOK']] },
    {
      it: 'is true again at once',
      machine: { conditions: said({ Reachable: false }) },
      seen: { host: UP },
      misses: { host: 3 },
      says: [['Reachable', true, 'PingOK']],
    },
    { it: 'outlasts a miss', machine: IN_SERVICE, seen: { host: DOWN }, says: [] },
    { it: 'outlasts two', machine: IN_SERVICE, seen: { host: DOWN }, misses: { host: 1 }, says: [] },
    {
      it: 'is false after three in a row',
      machine: { conditions: said({ Reachable: true }) },
      seen: { host: DOWN },
      misses: { host: 2 },
      says: [['Reachable', false, 'NoAnswer']],
    },
    { it: 'is not known before that', seen: { host: DOWN }, says: [] },
    { it: 'stays as it is when nothing was learned', machine: IN_SERVICE, misses: { host: 3 }, says: [] },
    {
      it: 'keeps the reason for which it last changed',
      machine: { conditions: said({ Reachable: [false, 'PoweredOff'] }) },
      seen: { host: DOWN },
      misses: { host: 3 },
      says: [],
    },
  ]);
});

describe('BMCReachable', () => {
  check([
    { it: 'follows the BMC', seen: { bmc: UP }, says: [['BMCReachable', true, 'PingOK']] },
    {
      it: 'stays absent where there is no BMC',
      seen: { host: UP, bmc: null },
      says: [['Reachable', true, 'PingOK']],
    },
    {
      it: 'counts misses of its own',
      machine: { conditions: said({ Reachable: true, BMCReachable: true }) },
      seen: { host: UP, bmc: DOWN },
      misses: { host: 2, bmc: 1 },
      says: [],
    },
    {
      it: 'is false after three in a row, and the machine degraded',
      machine: { conditions: said({ BMCReachable: true }) },
      seen: { bmc: DOWN },
      misses: { bmc: 2 },
      says: [
        ['BMCReachable', false, 'NoAnswer'],
        ['Degraded', true, 'BMCUnreachable'],
      ],
    },
  ]);
});

describe('InCustomerCluster and Drained', () => {
  const inCluster = (phase: Machine['phase'], conditions: Record<string, Said>) => ({
    phase,
    conditions: said(conditions),
  });
  check([
    {
      it: 'in the cluster and in service: something may run',
      machine: inCluster('READY', {}),
      seen: { cluster: JOINED },
      says: [
        ['InCustomerCluster', true, 'NodeReady'],
        ['Drained', false, 'InCluster'],
      ],
    },
    {
      it: 'in maintenance and out of the cluster: nothing runs',
      machine: inCluster('MAINTENANCE', { InCustomerCluster: true, Drained: false }),
      seen: { cluster: NOT_JOINED },
      says: [
        ['InCustomerCluster', false, 'NotJoined'],
        ['Drained', true, 'OutOfCluster'],
      ],
    },
    {
      it: 'in maintenance and still in the cluster: not known, so left alone',
      machine: inCluster('MAINTENANCE', { InCustomerCluster: true, Drained: false }),
      seen: { cluster: JOINED },
      says: [],
    },
    { it: 'in maintenance without a cluster: not known', machine: inCluster('MAINTENANCE', {}), says: [] },
    {
      it: 'ready and in no cluster: may be used by anybody, so not known',
      machine: inCluster('READY', {}),
      seen: { cluster: NOT_JOINED },
      says: [['InCustomerCluster', false, 'NotJoined']],
    },
    {
      it: 'out of maintenance: not drained any more',
      machine: inCluster('READY', { InCustomerCluster: false, Drained: true }),
      says: [['Drained', false, 'LeftMaintenance']],
    },
  ]);
});

describe('Degraded', () => {
  const lost = { seen: { host: DOWN }, misses: { host: 2 } } as const;
  check([
    {
      it: 'in service and unreachable',
      machine: IN_SERVICE,
      ...lost,
      says: [
        ['Reachable', false, 'NoAnswer'],
        ['Degraded', true, 'HostUnreachable'],
      ],
    },
    {
      it: 'not in maintenance',
      machine: { ...IN_SERVICE, phase: 'MAINTENANCE' },
      ...lost,
      says: [['Reachable', false, 'NoAnswer']],
    },
    {
      it: 'not before it was provisioned',
      machine: { phase: 'READY' },
      ...lost,
      says: [['Reachable', false, 'NoAnswer']],
    },
    {
      it: 'not when it is on its way back to its vendor',
      machine: { ...IN_SERVICE, conditions: said({ Provisioned: true, RMA: true, BMCReachable: false }) },
      ...lost,
      says: [['Reachable', false, 'NoAnswer']],
    },
    {
      it: 'names both when both are silent',
      machine: {
        ...IN_SERVICE,
        conditions: said({ Provisioned: true, BMCReachable: false, Reachable: false }),
      },
      says: [['Degraded', true, 'HostAndBMCUnreachable']],
    },
    {
      it: 'its reason follows what is wrong now',
      machine: {
        ...IN_SERVICE,
        conditions: said({
          Provisioned: true,
          Reachable: false,
          BMCReachable: false,
          Degraded: [true, 'HostAndBMCUnreachable'],
        }),
      },
      seen: { host: UP },
      says: [
        ['Reachable', true, 'PingOK'],
        ['Degraded', true, 'BMCUnreachable'],
      ],
    },
    {
      it: 'is over when what was wrong is over',
      machine: {
        ...IN_SERVICE,
        conditions: said({ Provisioned: true, Reachable: false, Degraded: [true, 'HostUnreachable'] }),
      },
      seen: { host: UP },
      says: [
        ['Reachable', true, 'PingOK'],
        ['Degraded', false, 'Recovered'],
      ],
    },
    {
      it: 'stays when somebody else said it',
      machine: { ...IN_SERVICE, conditions: said({ Reachable: true, Degraded: [true, 'DiskFailing'] }) },
      seen: { host: UP },
      says: [],
    },
    { it: 'is not denied where nobody claimed it', machine: IN_SERVICE, seen: { host: UP }, says: [] },
  ]);
});

describe('an operation owns the story of its machine', () => {
  const machine = { ...IN_SERVICE, activeOperationId: 'op-1' };

  it('nothing is derived, and misses from before it are forgotten', () => {
    const findings = derive({
      machine,
      seen: { host: DOWN, cluster: NOT_JOINED },
      misses: { host: 2, bmc: 1 },
    });
    expect(findings).toEqual({ changes: [], misses: { host: 0, bmc: 0 } });
  });
});

describe('what others say', () => {
  it('is never said here, whatever was seen', () => {
    const all = [null, UP, DOWN];
    const types = new Set<string>();
    for (const phase of ['FACTORY_READY', 'READY', 'MAINTENANCE'] as const)
      for (const host of all)
        for (const bmc of all)
          for (const cluster of all)
            for (const change of derive({
              machine: {
                phase,
                conditions: said({ Provisioned: true, NeedsIntervention: true, Drained: true }),
              },
              seen: { host, bmc, cluster },
              misses: { host: 2, bmc: 2 },
            }).changes)
              types.add(change.type);
    expect([...types].sort()).toEqual([
      'BMCReachable',
      'Degraded',
      'Drained',
      'InCustomerCluster',
      'Reachable',
    ]);
  });
});

describe('misses', () => {
  it('are counted up to the patience, kept when nothing was learned, forgotten at the first answer', () => {
    expect(derive({ seen: { host: DOWN }, misses: { host: 1, bmc: 2 } }).misses).toEqual({ host: 2, bmc: 2 });
    expect(derive({ seen: { host: DOWN, bmc: UP }, misses: { host: 3, bmc: 2 } }).misses).toEqual({
      host: 3,
      bmc: 0,
    });
  });
});
