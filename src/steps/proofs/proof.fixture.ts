import type { End, ScenarioWorld } from '../step-proof.fixture.ts';

export interface Proof extends Omit<ScenarioWorld, 'stepMs'> {
  readonly config: Readonly<Record<string, unknown>>;
  /** What the step is for: how the undisturbed run leaves the machine. */
  readonly leaves: { readonly body?: Partial<End['body']>; readonly tasks: readonly string[] };
  /** Its work ends during the call to the provider, and not later in the background. */
  readonly onTheLine?: true;
  /** Doing it again does no harm, and its traces are all there is to see: it may be done again after a crash. */
  readonly harmless?: true;
  /** It can't be observed, so after a crash the next replica must not guess: an operator decides. */
  readonly parksWhenUnknown?: true;
  /** Once started, its work runs to its end and can't be stopped: a cancel does not wait for it. */
  readonly unstoppable?: true;
  /** It is done as soon as its work is seen; that goes on, and is further when it is seen later. */
  readonly goesOn?: true;
  /** How it may be left after a cancel. */
  readonly undone?: (body: End['body']) => boolean;
}
