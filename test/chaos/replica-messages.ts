/** What the storm and its replicas say to each other: orders on stdin, reports on stdout, one JSON a line. */
import type { CrashPoint } from '../../src/engine/run-job.ts';

export const CRASH_POINTS = [
  'after_claim',
  'before_effect',
  'after_effect',
  'before_commit',
] as const satisfies readonly CrashPoint[];

/** Dies by SIGKILL, or stops by SIGSTOP, when the point is reached for the `after`-th time from now. */
export interface Order {
  readonly fault: 'kill' | 'stop';
  readonly point: CrashPoint;
  readonly after: number;
}

export type Report =
  | {
      readonly report: 'ready';
      readonly grpcPort: number;
      readonly httpPort: number;
      readonly adminTokenFile: string;
    }
  /** Written right before the signal. */
  | {
      readonly report: 'obeying';
      readonly order: Order;
      readonly operationId: string;
      readonly epoch: number;
    };

/**
 * One line of a replica's journal: the machine's monotonic clock in milliseconds, the point, the operation and
 * the epoch under which the replica thinks that it holds it.
 */
export type JournalLine = readonly [at: number, point: CrashPoint, operationId: string, epoch: number];

export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
