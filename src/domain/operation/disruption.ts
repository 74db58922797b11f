/**
 * Which operations take a machine out of service while they are active. An operation that waits for an approval is active,
 * so it holds its place. The database has the same table (ingot_unavailable_reason), and a test compares the two.
 */
import type { OperationType } from './operation-type.ts';

type Disruption = 'disruptive' | 'harmless';

const DISRUPTION = {
  REBOOT: 'disruptive',
  REIMAGE: 'disruptive',
  ENTER_MAINTENANCE: 'disruptive',
  // The machine is out of service until it ends, and in service after that.
  EXIT_MAINTENANCE: 'harmless',
  RMA: 'disruptive',
  UPGRADE: 'disruptive',
  NET_RECONFIG: 'disruptive',
  // Brings a machine into a cluster: what runs on it goes on running.
  JOIN: 'harmless',
  ONBOARD: 'harmless',
  DECOMMISSION: 'disruptive',
  DRAIN: 'disruptive',
  REMOVE: 'disruptive',
  ERASE: 'disruptive',
  MIGRATE: 'disruptive',
  // Only its BMC is read; in band, only a machine that is out of service.
  INSPECT: 'harmless',
  POWER: 'disruptive',
  // Its machine goes on.
  BMC: 'harmless',
} as const satisfies Record<OperationType, Disruption>;

export function isDisruptive(type: OperationType): boolean {
  return DISRUPTION[type] === 'disruptive';
}
