/** A part of `npm run bench`: what it measures of one build in one round. */
import type { LoadClient } from '../client.ts';
import type { BenchArguments } from '../rig/arguments.ts';
import type { Cleanup } from '../rig/cleanup.ts';
import type { Figure } from '../rig/figures.ts';
import type { Subject } from '../rig/subject.ts';

export interface Round {
  readonly subject: Subject;
  readonly args: BenchArguments;
  /** Counts from 0; also part of the names of machines, which no other round uses. */
  readonly number: number;
  readonly empty: { readonly grpc: LoadClient; readonly httpPort: number };
  readonly cleanup: Cleanup;
}

export type MeasurePart = (round: Round) => Promise<readonly Figure[]>;
