import { expect, it } from 'vitest';
import { OPERATION_TYPE_NAMES } from './operation-type.ts';
import { PHASE_GATED_TYPE_NAMES } from './phase-gated-type.ts';

it('operations have each type of every API once', () => {
  expect([...OPERATION_TYPE_NAMES].sort()).toEqual(
    [
      ...PHASE_GATED_TYPE_NAMES,
      ...['JOIN', 'NET_RECONFIG', 'RMA', 'UPGRADE'],
      ...['ONBOARD', 'DECOMMISSION', 'DRAIN', 'REMOVE'],
      ...['ERASE', 'MIGRATE', 'INSPECT', 'POWER', 'BMC'],
    ].sort(),
  );
});
