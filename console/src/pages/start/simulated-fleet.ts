/** Simulated machines, to try the console with: they reboot, fail and are reimaged like real ones. */
import { machines } from '../../api/clients.ts';

export const SIMULATED = 12;
export const SIMULATED_RACKS = 3;

export async function registerSimulated(): Promise<void> {
  for (let n = 0; n < SIMULATED; n += 1) {
    const rack = `r${(n % SIMULATED_RACKS) + 1}`;
    const place = Math.floor(n / SIMULATED_RACKS) + 1;
    await machines.registerMachine({
      machine: {
        machineId: `sim-${rack}-u${String(place).padStart(2, '0')}`,
        labels: { env: 'simulated', 'fake/step-ms': '400' },
        spec: {
          provider: 'fake',
          location: { site: 'sim', row: 'a', rack, unit: `U${place * 2 - 1}` },
        },
      },
    });
  }
}
