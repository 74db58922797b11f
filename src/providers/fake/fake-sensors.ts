/** What the BMC of a simulated machine measures: different for each machine, and slowly up and down over the day. */
import { createHash } from 'node:crypto';
import type { KnownLog } from '../../domain/hardware/hardware-log.ts';
import type { HardwareReading } from '../../domain/hardware/hardware-reading.ts';
import type { Machine } from '../../domain/machine/machine.ts';

const DAY_MS = 86_400_000;

/** Null: the machine has no BMC. */
export function fakeReading(
  { machineId, spec }: Machine,
  _known: KnownLog,
  now: number,
): HardwareReading | null {
  if (spec.bmc_endpoint === '') return null;
  const [seed = 0, other = 0] = createHash('sha256').update(machineId).digest();
  const load = 0.5 + 0.5 * Math.sin((2 * Math.PI * now) / DAY_MS + seed / 40);
  return {
    sensors: [
      {
        name: 'Inlet Temp',
        kind: 'temperature',
        unit: '°C',
        value: 20 + (seed % 6),
        health: 'OK',
        high_critical: 42,
      },
      ...[1, 2].map((socket) => ({
        name: `CPU${socket} Temp`,
        kind: 'temperature' as const,
        unit: '°C',
        value: Math.round(35 + 30 * load + socket),
        health: 'OK' as const,
        high_warning: 85,
        high_critical: 95,
      })),
      { name: 'FAN1', kind: 'fan', unit: 'RPM', value: Math.round(4000 + 6000 * load), health: 'OK' },
      { name: 'System Power', kind: 'power', unit: 'W', value: Math.round(180 + 400 * load + (other % 20)) },
    ],
    components: ['system', 'processors', 'memory', 'PSU1', 'PSU2'].map((component) => ({
      component,
      health: 'OK',
    })),
    log: null,
  };
}
