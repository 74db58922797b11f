/** Hardware that replaces a machine's: its identity, and how to recognise it. */
import type { Machine } from './machine.ts';

export interface Replacement {
  /** At least one; the first identifies the node. */
  readonly mac_addresses: readonly string[];
  /** The value that it must report; empty: not checked. */
  readonly serial_number: string;
  readonly system_uuid: string;
  /** Empty: unchanged. */
  readonly bmc_endpoint: string;
}

/** What the replacement reported. */
export interface ReportedHardware {
  readonly serialNumber: string;
  readonly systemUuid: string;
}

const EXPECTED = {
  serial_number: { noun: 'serial number', of: (seen: ReportedHardware) => seen.serialNumber },
  system_uuid: { noun: 'system UUID', of: (seen: ReportedHardware) => seen.systemUuid },
} as const;

type Expected = keyof typeof EXPECTED;
const EXPECTED_NAMES = Object.keys(EXPECTED) as Expected[];

/** What the replacement must report and has not reported yet; empty: nothing. */
export function notReportedYet(wanted: Replacement, seen: ReportedHardware): string {
  return EXPECTED_NAMES.filter((name) => wanted[name] !== '' && EXPECTED[name].of(seen) === '')
    .map((name) => EXPECTED[name].noun)
    .join(' and ');
}

/** How the reported hardware differs from the request; empty: it does not. */
export function hardwareMismatch(wanted: Replacement, seen: ReportedHardware): string {
  return EXPECTED_NAMES.filter((name) => {
    const reported = EXPECTED[name].of(seen);
    return wanted[name] !== '' && reported !== '' && !isSame(wanted[name], reported);
  })
    .map((name) => {
      const { noun, of } = EXPECTED[name];
      return `the ${noun} ${wanted[name]} was asked for, and the machine reports ${of(seen)}`;
    })
    .join('; ');
}

function isSame(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

/** Only a node that was discovered and never used can be the replacement of another machine's hardware. */
export function canBeReplacement({
  install,
  service,
  activeOperationId,
}: Pick<Machine, 'install' | 'service' | 'activeOperationId'>): boolean {
  return install === 'discovered' && service === null && activeOperationId === null;
}
