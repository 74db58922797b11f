/**
 * The operations that a machine takes in some phases and not in others. The server's gate, the CLI's hints and the
 * console's buttons all read this table.
 */
import type { Phase } from '../machine/phase.ts';

export type PhaseGatedType = 'REBOOT' | 'REIMAGE' | 'ENTER_MAINTENANCE' | 'EXIT_MAINTENANCE';

interface PhaseGatedTypeInfo {
  readonly description: string;
  readonly phases: readonly Phase[];
  /** Destroys data on the machine. */
  readonly destructive: boolean;
  /** The CLI verb. */
  readonly verb: string;
}

export const PHASE_GATED_TYPES = {
  REBOOT: {
    description: 'Reboot the machine',
    phases: ['READY', 'MAINTENANCE'],
    destructive: false,
    verb: 'reboot',
  },
  REIMAGE: {
    description: "Write an OS image over the machine's disk",
    phases: ['MAINTENANCE'],
    destructive: true,
    verb: 'reimage',
  },
  ENTER_MAINTENANCE: {
    description: 'Take the machine out of service',
    phases: ['FACTORY_READY', 'READY', 'MAINTENANCE'],
    destructive: false,
    verb: 'enter-maintenance',
  },
  EXIT_MAINTENANCE: {
    description: 'Return the machine to READY',
    phases: ['MAINTENANCE'],
    destructive: false,
    verb: 'exit-maintenance',
  },
} as const satisfies Record<PhaseGatedType, PhaseGatedTypeInfo>;

export const PHASE_GATED_TYPE_NAMES = Object.keys(PHASE_GATED_TYPES) as PhaseGatedType[];

export function isPhaseGated(type: string): type is PhaseGatedType {
  return Object.hasOwn(PHASE_GATED_TYPES, type);
}
