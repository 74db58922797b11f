/**
 * What must hold after a storm. Each check is a function from the evidence to its findings; none found is good.
 *
 * The events' ids are drawn while the row that they describe is locked, so their order is the order in which
 * things happened to that row.
 */

import { nextStates } from '../../src/domain/lifecycle/lifecycle.ts';
import {
  isActive,
  type OperationStatus,
  operationLifecycle,
} from '../../src/domain/operation/operation-status.ts';
import { type StepState, stepLifecycle } from '../../src/domain/operation/step-state.ts';
import type { EventFacts, Evidence, OperationFacts } from './evidence.ts';
import { effectsAfterTakeover } from './stale-effects.ts';
import { isTakeover, staleWrites } from './stale-writes.ts';

/** Holders that may be lost in one step; the server's own limit. */
const PARKED_AFTER = 10;

export type Check = (evidence: Evidence) => string[];

export const CHECKS = {
  'no operation is lost': ({ starts, operations }) => {
    const byRequest = groupBy(operations, ({ machineId, requestId }) => `${machineId}/${requestId}`);
    const asked = new Set(starts.map(({ machineId, requestId }) => `${machineId}/${requestId}`));
    const lost = starts.flatMap(({ machineId, requestId, operationId, otherIds, isDoubtful }) => {
      const key = `${machineId}/${requestId}`;
      const rows = byRequest.get(key) ?? [];
      if (otherIds.length > 0)
        return [`${key} was answered with ${operationId} and with ${otherIds.join(', ')}`];
      if (operationId === null && (isDoubtful || rows.length === 0)) return [];
      if (operationId === null) return [`${key} was refused and has ${rows.length} operations`];
      if (rows.length === 1 && rows[0]?.operationId === operationId) return [];
      return [`${key} was accepted as ${operationId} and has ${rows.length} operations`];
    });
    const unasked = [...byRequest.keys()].filter((key) => !asked.has(key));
    return [...lost, ...unasked.map((key) => `no client asked for ${key}`)];
  },

  'no operation is stuck': ({ operations }) =>
    operations
      .filter(({ status, owner }) => isActive(status) || owner !== null)
      .map(
        ({ operationId, status, owner }) => `${operationId} is ${status}, held by ${owner ?? 'no replica'}`,
      ),

  'no step completes twice': ({ operations, events }) => {
    const completions = countBy(
      events.filter(({ kind, to }) => kind === 'step' && to === 'succeeded'),
      ({ operationId, subject }) => `${operationId}/${subject}`,
    );
    return operations.flatMap(({ operationId, status, steps }) =>
      steps.flatMap(({ name }) => {
        const times = completions.get(`${operationId}/${name}`) ?? 0;
        const isRight = status === 'completed' ? times === 1 : times <= 1;
        return isRight ? [] : [`${operationId} is ${status} and its step ${name} completed ${times} times`];
      }),
    );
  },

  'every operation ends once': ({ operations, events }) => {
    const endings = countBy(
      events.filter(({ kind, to }) => kind === 'operation' && !isActive(to as OperationStatus)),
      ({ operationId }) => operationId,
    );
    return operations
      .filter(({ operationId }) => endings.get(operationId) !== 1)
      .map(({ operationId }) => `${operationId} ended ${endings.get(operationId) ?? 0} times`);
  },

  'never two active operations on a machine': ({ events, hasUniqueIndex }) => {
    const active = new Map<string, string>();
    const overlaps = operationEvents(events).flatMap(({ machineId, operationId, to, eventId }) => {
      const other = active.get(machineId);
      if (isActive(to as OperationStatus)) active.set(machineId, operationId);
      else if (other === operationId) active.delete(machineId);
      if (other === undefined || other === operationId) return [];
      return [`event ${eventId}: ${operationId} became ${to} on ${machineId} while ${other} was active`];
    });
    return hasUniqueIndex ? overlaps : [...overlaps, 'the unique index on active operations is gone'];
  },

  'a woken zombie writes nothing': ({ writes, events }) => staleWrites(writes, events),

  'a woken zombie begins no effect': ({ journals }) => effectsAfterTakeover(journals),

  'no effect lands after one of a later holder': ({ machines }) =>
    machines
      .filter(({ staleEffects }) => staleEffects > 0)
      .map(({ machineId, staleEffects }) => `${machineId} saw ${staleEffects} effects of earlier holders`),

  'machines agree with their operations': ({ machines, operations, events }) => {
    const byMachine = groupBy(operations, ({ machineId }) => machineId);
    const phases = phasesFrom(events);
    return machines.flatMap(({ machineId, phase, activeOperationId, bootCount }) => {
      const reboots = (byMachine.get(machineId) ?? []).flatMap(({ steps }) => steps.filter(isReboot));
      const atLeast = reboots.filter(({ state }) => state === 'succeeded').length;
      const atMost = reboots.reduce((sum, { attempts }) => sum + attempts, 0);
      const booted = bootCount - 1;
      const expected = phases.get(machineId) ?? 'FACTORY_READY';
      return [
        ...(activeOperationId === null ? [] : [`${machineId} still names ${activeOperationId} as active`]),
        ...(phase === expected ? [] : [`${machineId} is ${phase}; its operations say ${expected}`]),
        ...(booted >= atLeast ? [] : [`${machineId}: ${atLeast} reboots succeeded, ${booted} happened`]),
        ...(booted <= atMost ? [] : [`${machineId}: ${atMost} reboots were attempted, ${booted} happened`]),
      ];
    });
  },

  'every history is a legal path': ({ operations, events }) => illegalPaths(operations, events),

  'a watcher misses nothing and receives nothing twice': ({ operations, events, received }) => {
    const recorded = groupBy(
      events.filter(({ isTold }) => isTold),
      ({ operationId }) => operationId,
    );
    const receivedFor = groupBy(received, ({ operationId }) => operationId);
    return operations.flatMap(({ operationId }) => {
      const happened = (recorded.get(operationId) ?? []).map(changeOf).join(', ');
      const known = (receivedFor.get(operationId) ?? []).map(({ change }) => change).join(', ');
      return happened === known ? [] : [`${operationId}: ${happened}; the watcher received ${known}`];
    });
  },

  'operations fail only where they were steered to': ({ operations, writes, databaseRestarts }) => {
    const taken = countBy(writes.filter(isTakeover), ({ operationId }) => operationId);
    return operations.flatMap(({ operationId, errorCode }) => {
      if (errorCode === null || errorCode === 'EXECUTION_FAILED') return [];
      if (errorCode === 'INTERNAL' && databaseRestarts > 0) return [];
      const times = taken.get(operationId) ?? 0;
      if (errorCode === 'HOLDER_DIED_REPEATEDLY' && times >= PARKED_AFTER) return [];
      return [`${operationId} failed with ${errorCode}, and was taken over ${times} times`];
    });
  },

  'the API agrees with the database': ({ operations, machines, api, starts }) => [
    ...operations
      .filter(({ operationId, status }) => api.statuses.get(operationId) !== status)
      .map(
        ({ operationId, status }) =>
          `${operationId} is ${status}, listed as ${api.statuses.get(operationId)}`,
      ),
    ...machines
      .filter(({ machineId }) => api.activeOperations.get(machineId) !== '')
      .map(({ machineId }) => `${machineId} is listed with ${api.activeOperations.get(machineId)}`),
    ...starts.flatMap(({ machineId, requestId, operationId }) => {
      const again = api.replays.get(`${machineId}/${requestId}`);
      if (operationId === null || again === operationId) return [];
      return [`${machineId}/${requestId} started ${operationId}; sent again it gives ${again}`];
    }),
  ],

  'replicas die only when the storm orders it': ({ unexpectedDeaths }) => [...unexpectedDeaths],
} as const satisfies Record<string, Check>;

export type CheckName = keyof typeof CHECKS;

/** The checks that found what they must not find. */
export function redChecks(findings: Readonly<Record<CheckName, readonly string[]>>): CheckName[] {
  return (Object.keys(CHECKS) as CheckName[]).filter((name) => findings[name].length > 0);
}

export function runChecks(evidence: Evidence): Record<CheckName, string[]> {
  const results = Object.entries(CHECKS).map(([name, check]) => [name, check(evidence)]);
  return Object.fromEntries(results) as Record<CheckName, string[]>;
}

function operationEvents(events: readonly EventFacts[]): EventFacts[] {
  return events.filter(({ kind }) => kind === 'operation');
}

/** As Watcher writes it down. */
function changeOf({ kind, subject, to }: EventFacts): string {
  return kind === 'operation' ? to : `step ${subject}`;
}

function isReboot({ kind }: { readonly kind: string }): boolean {
  return kind === 'reboot';
}

/** Only a completed operation moves the phase. */
function phasesFrom(events: readonly EventFacts[]): Map<string, string> {
  const phases = new Map<string, string>();
  for (const { machineId, subject, to } of operationEvents(events)) {
    if (to !== 'completed') continue;
    if (subject === 'ENTER_MAINTENANCE') phases.set(machineId, 'MAINTENANCE');
    if (subject === 'EXIT_MAINTENANCE') phases.set(machineId, 'READY');
  }
  return phases;
}

/** Each event goes on where the one before it ended, by a transition of the table, and the last is what is stored. */
function illegalPaths(operations: readonly OperationFacts[], ordered: readonly EventFacts[]): string[] {
  const byOperation = groupBy(ordered, ({ operationId }) => operationId);
  return operations.flatMap(({ operationId, status, steps }) => {
    const events = byOperation.get(operationId) ?? [];
    const path = operationEvents(events);
    const [first, ...rest] = path;
    const begins = first?.from === '' && first.to === operationLifecycle.initial;
    const whole = begins
      ? walk(rest, operationLifecycle.initial, status, nextJobStatuses)
      : 'does not begin as pending';
    const parts = steps.map(({ name, state }) => {
      const own = events.filter(({ kind, subject }) => kind === 'step' && subject === name);
      const wrong = walk(own, stepLifecycle.initial, state, nextStepStates);
      return wrong === null ? null : `step ${name} ${wrong}`;
    });
    return [whole, ...parts].flatMap((wrong) => (wrong === null ? [] : [`${operationId} ${wrong}`]));
  });
}

function nextJobStatuses(from: string): readonly string[] {
  // A request to cancel is recorded without a change of the status.
  return [from, ...nextStates(operationLifecycle, from as OperationStatus)];
}

function nextStepStates(from: string): readonly string[] {
  return nextStates(stepLifecycle, from as StepState);
}

function walk(
  events: readonly EventFacts[],
  initial: string,
  stored: string,
  next: (from: string) => readonly string[],
): string | null {
  let state = initial;
  for (const { from, to, eventId } of events) {
    if (from !== state) return `was ${state} when event ${eventId} took it from ${from} to ${to}`;
    if (!next(from).includes(to)) return `went from ${from} to ${to} in event ${eventId}`;
    state = to;
  }
  return state === stored ? null : `is ${stored}, and its events end with ${state}`;
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}

function countBy<T>(items: readonly T[], key: (item: T) => string): Map<string, number> {
  return new Map([...groupBy(items, key)].map(([name, group]) => [name, group.length]));
}
