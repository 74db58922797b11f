/** All lifecycles, for the pages in docs/lifecycles and the tests. */

import { presenceLifecycle } from '../agent/presence.ts';
import { installLifecycle } from '../install/install-state.ts';
import { phaseLifecycle } from '../machine/phase.ts';
import { serviceLifecycle } from '../machine/service-state.ts';
import { operationLifecycle } from '../operation/operation-status.ts';
import { stepLifecycle } from '../operation/step-state.ts';
import type { Lifecycle } from './lifecycle.ts';

export const LIFECYCLES: readonly Lifecycle<string, string>[] = [
  phaseLifecycle,
  serviceLifecycle,
  installLifecycle,
  presenceLifecycle,
  operationLifecycle,
  stepLifecycle,
];
