// @module-tag extended: server.test.ts follows advice for other codes in the same way.
/** The advice for failures of BMCs and of installations over the network: see scenario.ts. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  BMC_SCENARIOS,
  type BmcScenarioSite,
  IPMITOOL_SCENARIOS,
  openBmcScenarioSite,
} from './bmc-scenarios.ts';
import { CHANGE_SCENARIOS } from './change-scenarios.ts';
import { HARDWARE_SCENARIOS } from './hardware-scenarios.ts';
import { REDFISH_SCENARIOS } from './redfish-scenarios.ts';
import { follow, followAll, TIME_LIMIT } from './scenario.ts';

let site: BmcScenarioSite;
const advice = followAll({
  ...BMC_SCENARIOS,
  ...HARDWARE_SCENARIOS,
  ...REDFISH_SCENARIOS,
  ...CHANGE_SCENARIOS,
});
beforeAll(async () => {
  site = await openBmcScenarioSite();
  advice.start(site);
}, TIME_LIMIT);
afterAll(() => site?.stop());

describe('once the cause is removed, the advised action leads on after', () => {
  it.each(advice.codes)('%s', (code) => advice.end(code), TIME_LIMIT);

  // When all others are done: these do it to every BMC.
  it.each(Object.keys(IPMITOOL_SCENARIOS) as (keyof typeof IPMITOOL_SCENARIOS)[])(
    '%s',
    (code) => follow(site, code, IPMITOOL_SCENARIOS[code]),
    TIME_LIMIT,
  );
});
