/** The messages between the primary process and its workers. */

import type { Ports } from '../replica/start-surfaces.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';

export interface WorkerStart {
  readonly kind: 'start';
  /** From 1 up; a worker that replaces another has its number. */
  readonly worker: number;
  readonly settings: Settings;
  /** The primary's: a worker that starts later must not read a file that was edited since. */
  readonly configuration: Configuration;
}

/** The primary prepares the database for all workers; this is its progress. */
export type DatabaseState =
  | { readonly kind: 'waiting'; readonly cause: string }
  | { readonly kind: 'prepared'; readonly url: string; readonly postgres: ProcessIdentity | null };

/** A pid, and the start time that distinguishes its process from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string | undefined;
}

export type ToWorker = WorkerStart | DatabaseState | { readonly kind: 'stop' };

export type FromWorker =
  /** It can receive messages now; earlier messages are lost. */
  | { readonly kind: 'loaded' }
  | { readonly kind: 'serving'; readonly ports: Ports }
  /** A setting is wrong: `setting: problem`, for the primary to print. */
  | { readonly kind: 'refused'; readonly message: string };
