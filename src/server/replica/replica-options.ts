import type { Logger } from 'pino';
import type { Job } from '../../engine/job.ts';
import type { CrashPoint } from '../../engine/run-job.ts';
import type { Readiness } from '../../surfaces/readiness.ts';
import type { TlsSource } from '../../surfaces/tls/tls-source.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';

export interface ReplicaOptions {
  readonly settings: Settings;
  readonly configuration: Configuration;
  readonly log: Logger;
  readonly readiness: Readiness;
  /** Null: plaintext. */
  readonly tls: TlsSource | null;
  /** For crash tests. */
  readonly crashPoint?: (point: CrashPoint, operation: Job) => void;
  /** For tests that would have to wait otherwise. */
  readonly repeatActMs?: number;
  readonly maxProbeMs?: number;
  /** For tests that hold new operations: whether a start may claim what it creates. */
  readonly mayClaimAtStart?: () => boolean;
}

/** How long each part may take to stop in order. */
export const SHUTDOWN_GRACE_MS = 10_000;
