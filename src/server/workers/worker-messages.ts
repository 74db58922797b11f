/** What the primary process and its workers say to each other over their channel. */

import type { Replica } from '../replica.ts';
import type { Configuration } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';

export interface WorkerStart {
  readonly kind: 'start';
  /** From 1 up; a worker that takes the place of another has its number. */
  readonly worker: number;
  readonly settings: Settings;
  /** The primary's, so that a worker that starts later does not read a file that was edited since. */
  readonly configuration: Configuration;
}

/** The primary prepares the database for all workers; this is how far it is. */
export type DatabaseState =
  | { readonly kind: 'waiting'; readonly cause: string }
  | { readonly kind: 'prepared'; readonly url: string; readonly postgres: ProcessIdentity | null };

/** A pid, and what tells its process from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string | undefined;
}

export type ToWorker = WorkerStart | DatabaseState | { readonly kind: 'stop' };

export type FromWorker =
  /** It can receive messages; what is sent earlier is lost. */
  | { readonly kind: 'loaded' }
  | { readonly kind: 'serving'; readonly ports: Replica }
  /** A setting is wrong: `setting: problem`, for the primary to print. */
  | { readonly kind: 'refused'; readonly message: string };
