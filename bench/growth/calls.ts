/** Every call of the API, from the descriptors of its services: a method without a row here fails the tool and the test. */
import type { DescMethod } from '@bufbuild/protobuf';
import { SERVICES } from '../../src/surfaces/access/known-methods.ts';
import { ADMIN_ACCESS, ADMIN_LEFT_OUT, ADMIN_MACHINES, ADMIN_OPERATIONS } from './admin-calls.ts';
import { BMC_LEFT_OUT, CONSOLE_CALLS } from './bmc-calls.ts';
import type { GrowthCall, LeftOut } from './call.ts';
import { FLEET_CALLS, VIEW_CALLS } from './fleet-calls.ts';
import { HARDWARE_CALLS, HARDWARE_LEFT_OUT } from './hardware-calls.ts';
import { OPERATION_CALLS, READ_MACHINES, RUN_CALLS, WRITE_MACHINES } from './machine-calls.ts';
import { BUDGET_CALLS, ROLLOUT_CALLS } from './rollout-calls.ts';

/** Reads first: they find the fleet as it was filled. */
export const CALLS: readonly GrowthCall[] = [
  ...READ_MACHINES,
  ...OPERATION_CALLS,
  ...FLEET_CALLS,
  ...RUN_CALLS,
  ...ADMIN_MACHINES,
  ...ADMIN_OPERATIONS,
  ...ADMIN_ACCESS,
  ...VIEW_CALLS,
  ...WRITE_MACHINES,
  ...ROLLOUT_CALLS,
  ...BUDGET_CALLS,
  ...HARDWARE_CALLS,
  ...CONSOLE_CALLS,
];

export const LEFT_OUT: readonly LeftOut[] = [...ADMIN_LEFT_OUT, ...HARDWARE_LEFT_OUT, ...BMC_LEFT_OUT];

export const fullName = (method: DescMethod): string => `${method.parent.typeName}/${method.name}`;

/** With its variant: no two calls have the same. */
export function callName({ method, variant }: Pick<GrowthCall, 'method' | 'variant'>): string {
  const name = fullName(method).replace('baremetal.', '');
  return variant === '' ? name : `${name}: ${variant}`;
}

/** Methods of the API without a row. */
export function missingCalls(
  calls: readonly Pick<GrowthCall, 'method'>[] = CALLS,
  leftOut: readonly LeftOut[] = LEFT_OUT,
): string[] {
  const known = new Set([...calls, ...leftOut].map(({ method }) => fullName(method)));
  return SERVICES.flatMap(({ methods }) => methods.map(fullName)).filter((name) => !known.has(name));
}
