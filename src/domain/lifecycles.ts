/** Every lifecycle there is, for what is read off all of them: the pages in docs/lifecycles and the tests. */
import { installLifecycle } from './install-state.ts';
import { jobLifecycle } from './job-status.ts';
import type { Lifecycle } from './lifecycle.ts';
import { phaseLifecycle } from './phase.ts';
import { presenceLifecycle } from './presence.ts';
import { serviceLifecycle } from './service-state.ts';
import { stepLifecycle } from './step-state.ts';

export const LIFECYCLES: readonly Lifecycle<string, string>[] = [
  phaseLifecycle,
  serviceLifecycle,
  installLifecycle,
  presenceLifecycle,
  jobLifecycle,
  stepLifecycle,
];
