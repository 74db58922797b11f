/** The advice for failures of a configuration, and that every row of the table has a scenario: see scenario.ts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILURE_CODES, type FailureCode } from '../../src/domain/error/failure-code.ts';
import { BMC_SCENARIOS, IPMITOOL_SCENARIOS } from './bmc-scenarios.ts';
import { CHANGE_SCENARIOS } from './change-scenarios.ts';
import { HARDWARE_SCENARIOS } from './hardware-scenarios.ts';
import { HOST_SCENARIOS } from './host-scenarios.ts';
import { MAAS_SCENARIOS } from './maas-scenarios.ts';
import {
  openReconfiguredSite,
  RECONFIGURED_SCENARIOS,
  type ReconfiguredSite,
} from './reconfigured-scenarios.ts';
import { REDFISH_SCENARIOS } from './redfish-scenarios.ts';
import { followAll, TIME_LIMIT } from './scenario.ts';
import { SERVER_SCENARIOS } from './server-scenarios.ts';

/** Each is followed in the test of its site; a row without one does not compile. */
const SCENARIOS = {
  ...SERVER_SCENARIOS,
  ...HOST_SCENARIOS,
  ...BMC_SCENARIOS,
  ...REDFISH_SCENARIOS,
  ...HARDWARE_SCENARIOS,
  ...CHANGE_SCENARIOS,
  ...IPMITOOL_SCENARIOS,
  ...MAAS_SCENARIOS,
  ...RECONFIGURED_SCENARIOS,
} as const satisfies Record<FailureCode, unknown>;

let site: ReconfiguredSite;
const advice = followAll(RECONFIGURED_SCENARIOS);
beforeAll(async () => {
  site = await openReconfiguredSite();
  advice.start(site);
}, TIME_LIMIT);
afterAll(() => site?.stop());

it('every failure code has a scenario', () => {
  expect(Object.keys(SCENARIOS).sort()).toEqual([...FAILURE_CODES].sort());
});

describe('once the cause is removed, the advised action leads on after', { tags: ['extended'] }, () => {
  it.each(advice.codes)('%s', (code) => advice.end(code), TIME_LIMIT);
});
