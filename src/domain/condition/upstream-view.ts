/** What an upstream such as MAAS reports for a machine, when it was read, and whether it fits the machine's service state. */

import type { AcceptedDrift, Machine } from '../machine/machine.ts';
import { expectedUpstream, upstreamDisagreement } from './drift.ts';

export interface UpstreamView {
  readonly source: string;
  readonly state: string;
  readonly power: string;
  readonly upstreamId: string;
  /** Since when it has this state. */
  readonly since: Date;
  readonly seenAt: Date;
  /** The states that it should report; empty where any is fine. */
  readonly expected: readonly string[];
  /** Why the state does not fit; empty where it does. */
  readonly disagreement: string;
  readonly accepted: AcceptedDrift | null;
  /** Why the upstream could not be read since; empty where it could. */
  readonly failure: string;
}

/** The last complete sweep of an upstream: when it started, null where there was none, and the machines that it could not read. */
export interface UpstreamRead {
  readonly readAt: Date | null;
  readonly unread: readonly string[];
  /** Of the last sweep; empty where it was complete. */
  readonly failure: string;
}

/** A sweep that finds no change writes nothing into the machine, but the recorded state was seen by it. */
export function upstreamSeenAt(
  { machineId, observed }: Pick<Machine, 'machineId' | 'observed'>,
  read: UpstreamRead | undefined,
): Date | null {
  if (observed === null) return null;
  const since = new Date(observed.at);
  if (!read?.readAt || read.unread.includes(machineId) || read.readAt < since) return since;
  return read.readAt;
}

export function upstreamView(machine: Machine, read: UpstreamRead | undefined): UpstreamView | null {
  const { observed, service } = machine;
  const seenAt = upstreamSeenAt(machine, read);
  if (observed === null || seenAt === null) return null;
  const { source, state, power, upstreamId, accepted } = observed;
  return {
    ...{ source, state, power, upstreamId, seenAt },
    since: new Date(observed.at),
    expected: expectedUpstream(service) ?? [],
    disagreement: upstreamDisagreement(machine, service) ?? '',
    accepted: accepted ?? null,
    failure: read?.failure ?? '',
  };
}

/** For messages: to the second, in UTC. */
export function utcText(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
