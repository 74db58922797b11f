/** A check that can't fail is a defect: each is shown a healthy history, and then one that is broken in its way. */
import { describe, expect, it } from 'vitest';
import { CHECKS, type CheckName, runChecks } from './checks.ts';
import type { EventFacts, Evidence } from './evidence.ts';
import type { Write } from './write-history.ts';

const OPERATION = 'op-1';
const MACHINE = 'm-1';
const FIRST = 'replica-a';
const SECOND = 'replica-b';

function event(eventId: number, kind: EventFacts['kind'], from: string, to: string): EventFacts {
  return {
    eventId,
    xid: eventId,
    kind,
    subject: kind === 'step' ? 'reboot' : 'REBOOT',
    from,
    to,
    actorKind: from === '' ? 'operator' : 'system',
    actorId: from === '' ? 'alice' : SECOND,
    machineId: MACHINE,
    operationId: OPERATION,
    isTold: true,
  };
}

function write(fields: Partial<Write>): Write {
  return {
    seq: 1,
    xid: 1,
    operationId: OPERATION,
    statusBefore: 'running',
    statusAfter: 'running',
    ownerBefore: SECOND,
    ownerAfter: SECOND,
    epochBefore: 2,
    epochAfter: 2,
    wasCancelRequest: false,
    ...fields,
  };
}

/** One reboot: claimed by the first replica, which dies, taken over and completed by the second. */
const HEALTHY: Evidence = {
  starts: [
    {
      machineId: MACHINE,
      requestId: 'r-1',
      type: 'REBOOT',
      operationId: OPERATION,
      otherIds: [],
      isDoubtful: true,
    },
  ],
  operations: [
    {
      operationId: OPERATION,
      machineId: MACHINE,
      requestId: 'r-1',
      status: 'completed',
      owner: null,
      errorCode: null,
      steps: [{ name: 'reboot', kind: 'reboot', state: 'succeeded', attempts: 1 }],
    },
  ],
  machines: [
    { machineId: MACHINE, phase: 'FACTORY_READY', activeOperationId: null, bootCount: 2, staleEffects: 0 },
  ],
  events: [
    event(1, 'operation', '', 'pending'),
    event(2, 'operation', 'pending', 'running'),
    event(3, 'step', 'waiting', 'running'),
    event(4, 'step', 'running', 'succeeded'),
    event(5, 'operation', 'running', 'completed'),
  ],
  writes: [
    write({ seq: 1, ownerBefore: null, ownerAfter: FIRST, epochBefore: 0, epochAfter: 1 }),
    write({ seq: 2, ownerBefore: FIRST, ownerAfter: SECOND, epochBefore: 1, epochAfter: 2 }),
    write({ seq: 3, xid: 5, statusAfter: 'completed', ownerAfter: null }),
  ],
  journals: [
    [[10, 'after_claim', OPERATION, 1]],
    [
      [20, 'after_claim', OPERATION, 2],
      [21, 'before_effect', OPERATION, 2],
      [22, 'after_effect', OPERATION, 2],
    ],
  ],
  api: {
    statuses: new Map([[OPERATION, 'completed']]),
    activeOperations: new Map([[MACHINE, '']]),
    replays: new Map([[`${MACHINE}/r-1`, OPERATION]]),
  },
  received: ['pending', 'running', 'step reboot', 'step reboot', 'completed'].map((change) => ({
    operationId: OPERATION,
    change,
  })),
  hasUniqueIndex: true,
  unexpectedDeaths: [],
  databaseRestarts: 0,
};

const [operation] = HEALTHY.operations;
const [machine] = HEALTHY.machines;
const [start] = HEALTHY.starts;
if (!operation || !machine || !start) throw new Error('the healthy history is empty');

/** What breaks each check. */
const BROKEN = {
  'no operation is lost': { operations: [] },
  'no operation is stuck': { operations: [{ ...operation, status: 'running', owner: FIRST }] },
  'no step completes twice': { events: [...HEALTHY.events, event(6, 'step', 'running', 'succeeded')] },
  'every operation ends once': { events: [...HEALTHY.events, event(6, 'operation', 'running', 'completed')] },
  'never two active operations on a machine': {
    events: [
      event(1, 'operation', '', 'pending'),
      { ...event(2, 'operation', '', 'pending'), operationId: 'op-2' },
    ],
  },
  'a woken zombie writes nothing': {
    writes: [...HEALTHY.writes.slice(0, 2), write({ seq: 3, xid: 5, ownerBefore: FIRST })],
  },
  'a woken zombie begins no effect': {
    journals: [
      ...HEALTHY.journals,
      [
        [30, 'before_effect', OPERATION, 1],
        [31, 'after_effect', OPERATION, 1],
      ],
    ],
  },
  'no effect lands after one of a later holder': { machines: [{ ...machine, staleEffects: 1 }] },
  'machines agree with their operations': { machines: [{ ...machine, bootCount: 3 }] },
  'every history is a legal path': { events: HEALTHY.events.filter(({ eventId }) => eventId !== 3) },
  'a watcher misses nothing and receives nothing twice': {
    received: [...HEALTHY.received, ...HEALTHY.received.slice(-1)],
  },
  'operations fail only where they were steered to': {
    operations: [{ ...operation, errorCode: 'HOLDER_DIED_REPEATEDLY' }],
  },
  'the API agrees with the database': {
    api: { ...HEALTHY.api, replays: new Map([[`${MACHINE}/r-1`, 'op-2']]) },
  },
  'replicas die only when the storm orders it': { unexpectedDeaths: ['replica 7 ended with exit code 1'] },
} as const satisfies Record<CheckName, Partial<Evidence>>;

describe('the checks of the storm', () => {
  it('find nothing in a healthy history', () => {
    expect(Object.values(runChecks(HEALTHY)).flat()).toEqual([]);
  });

  it.each(Object.keys(CHECKS) as CheckName[])('“%s” can fail', (name) => {
    expect(runChecks({ ...HEALTHY, ...BROKEN[name] })[name]).not.toEqual([]);
  });

  it('let a refused request have no operation, unless a call for it went unanswered', () => {
    const refused = { ...start, operationId: null, isDoubtful: false };
    const check = CHECKS['no operation is lost'];
    expect(check({ ...HEALTHY, starts: [refused] })).toHaveLength(1);
    expect(check({ ...HEALTHY, starts: [{ ...refused, isDoubtful: true }] })).toEqual([]);
  });

  it.each([
    ['a row without a holder', { ownerBefore: null }],
    ['an operation that was over', { statusBefore: 'completed' }],
    ['an epoch that went back', { epochAfter: 1 }],
  ])('find a zombie by its write to %s', (_words, fields) => {
    const writes = [...HEALTHY.writes, write({ seq: 4, xid: 9, ...fields })];
    expect(CHECKS['a woken zombie writes nothing']({ ...HEALTHY, writes })).toHaveLength(1);
  });
});
