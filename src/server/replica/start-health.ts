/** A replica's health: whether the database can be written, and whether its background loops pass. */
import type { Logger } from 'pino';
import type { Database } from '../../store/database/database.ts';
import { DatabaseProbe } from '../../store/database/database-probe.ts';
import { DATABASE_CAUSE, type Readiness } from '../../surfaces/readiness.ts';
import { LoopHealth } from './loop-health.ts';

export interface Health {
  readonly loops: LoopHealth;
  stop(): Promise<void>;
}

export function startHealth(database: Database, readiness: Readiness, log: Logger): Health {
  const monotonicNow = () => performance.now();
  const loops = new LoopHealth({ log, monotonicNow, readiness });
  const probe = new DatabaseProbe({
    newClient: () => database.newClient(),
    monotonicNow,
    onChange: (away) => {
      if (away === null) {
        readiness.clear(DATABASE_CAUSE);
        log.info('the database can be written again');
        return;
      }
      readiness.set(DATABASE_CAUSE, away.message);
      log.error({ err: away.cause ?? away, code: away.code }, away.message);
    },
    onError: (error) =>
      log.warn({ err: error }, 'the database can not be probed; only failing calls show its state'),
    watch: loops,
  });
  database.onAway((away) => probe.saw(away));
  probe.start();
  return {
    loops,
    stop: async () => {
      await probe.stop();
      // The next replica with the same readiness finds out by itself.
      loops.forget();
      readiness.clear(DATABASE_CAUSE);
    },
  };
}
