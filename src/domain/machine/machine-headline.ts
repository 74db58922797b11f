/** The headline of a machine of the domain; src/client/message-headline.ts has that of a message of the API. */
import { upstreamDiffers } from '../condition/drift.ts';
import { effectiveState } from './effective-state.ts';
import { type Headline, type HeadlineInput, headline } from './headline.ts';
import type { Machine } from './machine.ts';

export interface SeenBeside {
  /** When its agent last reported; null: never, or not known. */
  readonly lastKeepaliveAt: Date | null;
  /** The step of its operation is slower than its history. */
  readonly isStalled: boolean;
}

const NOTHING_SEEN: SeenBeside = { lastKeepaliveAt: null, isStalled: false };

export function machineHeadline(machine: Machine, now: Date, beside: SeenBeside = NOTHING_SEEN): Headline {
  return headline(inputOf(machine, beside), now.getTime());
}

function inputOf(machine: Machine, { lastKeepaliveAt, isStalled }: SeenBeside): HeadlineInput {
  const { phase, service, install, presence, conditions, observed, maintenance } = machine;
  return {
    effectiveState: effectiveState(machine),
    phase,
    service: service ?? '',
    install: install ?? '',
    presence: presence ?? '',
    conditions,
    activeOperationType:
      machine.activeOperationId === null ? '' : (machine.activeOperationType ?? 'operation'),
    isStalled,
    lastKeepaliveMs: lastKeepaliveAt?.getTime() ?? null,
    maintenanceUntilMs: maintenance?.until == null ? null : Date.parse(maintenance.until),
    upstream: observed && { ...observed, differs: upstreamDiffers(machine) },
  };
}
