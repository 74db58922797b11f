import { describe, expect, it } from 'vitest';
import type { Conditions } from '../domain/condition/condition.ts';
import { type ClusterNode, inClusterCondition } from '../domain/condition/node-observation.ts';
import { sampleMachine } from '../domain/machine/machine.fixture.ts';
import type { Machine } from '../domain/machine/machine.ts';
import type { ClusterProbeResult } from '../providers/provider.ts';
import { deriveConditions, type ProbeResults } from './derive-conditions.ts';

const MAX_MISSES = 3;
const UP = { ok: true, reason: 'PingOK', message: 'up' };
const DOWN = { ok: false, reason: 'NoAnswer', message: 'down' };

/** What a probe says of a machine whose cluster shows this node. */
function inCluster(fields: Partial<ClusterNode> | null): ClusterProbeResult {
  const node = fields && {
    ready: true,
    lost: false,
    why: '',
    takesWork: true,
    kubeletVersion: 'v1.31.2',
    workloads: null,
    ...fields,
  };
  const sight = { cluster: 'cluster-a', name: 'm-1', node };
  const { status: ok, ...verdict } = inClusterCondition(sight);
  return { ok, ...verdict, sight };
}

const JOINED = inCluster({});
const NOT_JOINED = inCluster(null);
const UNKNOWN_CLUSTER = { ok: false, reason: 'UnknownCluster', message: 'cluster-z is not configured' };

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
  readonly seen?: Partial<ProbeResults>;
  readonly misses?: { readonly host?: number; readonly bmc?: number };
  /** Type, status and reason of each change. */
  readonly says: ReadonlyArray<readonly [string, boolean, string]>;
}

function derive({ machine, seen, misses }: Omit<Case, 'it' | 'says'>) {
  return deriveConditions(
    sampleMachine(machine),
    { host: null, bmc: null, cluster: null, ...seen },
    { host: 0, bmc: 0, ...misses },
    MAX_MISSES,
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
      it: 'has its own count of misses',
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
  const machineIn = (phase: Machine['phase'], conditions: Record<string, Said>) => ({
    phase,
    conditions: said(conditions),
  });
  const NODE_READY: Said = [true, 'NodeReady'];
  const NODE_CORDONED: Said = [true, 'NodeCordoned'];
  const cordoned = (count: number, fields: Partial<ClusterNode> = {}) =>
    inCluster({ takesWork: false, workloads: { count, ending: 0 }, ...fields });
  check([
    {
      it: 'a node that takes work is not drained',
      machine: machineIn('READY', {}),
      seen: { cluster: JOINED },
      says: [
        ['InCustomerCluster', true, 'NodeReady'],
        ['Drained', false, 'NodeTakesWork'],
      ],
    },
    {
      it: 'neither in maintenance',
      machine: machineIn('MAINTENANCE', { InCustomerCluster: false, Drained: [true, 'OutOfCluster'] }),
      seen: { cluster: JOINED },
      says: [
        ['InCustomerCluster', true, 'NodeReady'],
        ['Drained', false, 'NodeTakesWork'],
      ],
    },
    {
      it: 'a cordoned node is drained when it was seen to carry nothing, whatever the phase',
      machine: machineIn('READY', { InCustomerCluster: NODE_READY, Drained: false }),
      seen: { cluster: cordoned(0) },
      says: [
        ['InCustomerCluster', true, 'NodeCordoned'],
        ['Drained', true, 'NodeDrained'],
      ],
    },
    {
      it: 'and not while workloads are left',
      machine: machineIn('MAINTENANCE', { InCustomerCluster: NODE_CORDONED }),
      seen: { cluster: cordoned(2) },
      says: [['Drained', false, 'WorkloadsLeft']],
    },
    {
      it: 'uncordoned, it is drained no more',
      machine: machineIn('MAINTENANCE', { InCustomerCluster: NODE_CORDONED, Drained: [true, 'NodeDrained'] }),
      seen: { cluster: JOINED },
      says: [
        ['InCustomerCluster', true, 'NodeReady'],
        ['Drained', false, 'NodeTakesWork'],
      ],
    },
    {
      it: 'a node that its cluster has lost is not seen to be drained',
      machine: machineIn('MAINTENANCE', { InCustomerCluster: NODE_CORDONED, Drained: false }),
      seen: { cluster: cordoned(0, { ready: false, lost: true }) },
      says: [['InCustomerCluster', false, 'NodeNotReady']],
    },
    {
      it: 'one that was drained before it was lost stays so',
      machine: machineIn('READY', { InCustomerCluster: NODE_CORDONED, Drained: [true, 'NodeDrained'] }),
      seen: { cluster: cordoned(0, { ready: false, lost: true }) },
      says: [['InCustomerCluster', false, 'NodeNotReady']],
    },
    {
      it: 'not Ready and not cordoned: something may run on it',
      machine: machineIn('MAINTENANCE', { InCustomerCluster: NODE_READY }),
      seen: { cluster: inCluster({ ready: false }) },
      says: [
        ['InCustomerCluster', false, 'NodeNotReady'],
        ['Drained', false, 'NodeTakesWork'],
      ],
    },
    {
      it: 'in maintenance, and its cluster has no such node: nothing runs',
      machine: machineIn('MAINTENANCE', { InCustomerCluster: true, Drained: false }),
      seen: { cluster: NOT_JOINED },
      says: [
        ['InCustomerCluster', false, 'NotJoined'],
        ['Drained', true, 'OutOfCluster'],
      ],
    },
    {
      it: 'in maintenance, and its cluster could not be asked: not known',
      machine: machineIn('MAINTENANCE', {}),
      seen: { cluster: UNKNOWN_CLUSTER },
      says: [['InCustomerCluster', false, 'UnknownCluster']],
    },
    { it: 'in maintenance without a cluster: not known', machine: machineIn('MAINTENANCE', {}), says: [] },
    {
      it: 'ready and in no cluster: may be in use, so not known',
      machine: machineIn('READY', {}),
      seen: { cluster: NOT_JOINED },
      says: [['InCustomerCluster', false, 'NotJoined']],
    },
    {
      it: 'out of maintenance: not drained any more',
      machine: machineIn('READY', { InCustomerCluster: false, Drained: [true, 'OutOfCluster'] }),
      says: [['Drained', false, 'LeftMaintenance']],
    },
    {
      it: 'but what was seen drained in its cluster needs no maintenance to stay so',
      machine: machineIn('READY', { InCustomerCluster: NODE_CORDONED, Drained: [true, 'NodeDrained'] }),
      says: [],
    },
    {
      it: 'and a machine that is being returned is not in use again',
      machine: machineIn('READY', { RMA: true, Drained: [true, 'OutOfCluster'] }),
      says: [],
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
      it: 'names both when neither answers',
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
      it: 'stays when another part set it',
      machine: { ...IN_SERVICE, conditions: said({ Reachable: true, Degraded: [true, 'DiskFailing'] }) },
      seen: { host: UP },
      says: [],
    },
    { it: 'is not cleared where it was never set', machine: IN_SERVICE, seen: { host: UP }, says: [] },
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
    const clusters = [null, JOINED, NOT_JOINED];
    const types = new Set<string>();
    for (const phase of ['FACTORY_READY', 'READY', 'MAINTENANCE'] as const)
      for (const host of all)
        for (const bmc of all)
          for (const cluster of clusters)
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
  it('are counted up to the limit, kept when nothing was learned, forgotten at the first answer', () => {
    expect(derive({ seen: { host: DOWN }, misses: { host: 1, bmc: 2 } }).misses).toEqual({ host: 2, bmc: 2 });
    expect(derive({ seen: { host: DOWN, bmc: UP }, misses: { host: 3, bmc: 2 } }).misses).toEqual({
      host: 3,
      bmc: 0,
    });
  });
});
