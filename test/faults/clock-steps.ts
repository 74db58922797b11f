/** The database's clock is set back and forward by an hour under work. */
import { startSteppedPostgres } from '../parts/stepped-postgres.ts';
import type { FaultResult } from './fault-result.ts';
import { onOneServer } from './one-server.ts';
import { secondsSince } from './run-fault.ts';

const HOUR = 3_600;

export function clockBack(): Promise<FaultResult> {
  return stepped('clock back 1 h', -HOUR);
}

export function clockForward(): Promise<FaultResult> {
  return stepped('clock forward 1 h', HOUR);
}

async function stepped(fault: string, seconds: number): Promise<FaultResult> {
  const postgres = await startSteppedPostgres();
  try {
    return await onOneServer(postgres.url, {
      fault,
      strike: async (stage) => {
        const before = await stage.underWay();
        postgres.setOffset(seconds);
        const steppedAt = performance.now();
        await stage.untilMoved(before);
        return secondsSince(steppedAt);
      },
    });
  } finally {
    await postgres.stop();
  }
}
