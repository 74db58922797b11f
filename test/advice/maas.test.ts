// @module-tag extended: server.test.ts follows advice for other codes in the same way.
/** The advice for failures of MAAS and of the workflows through it: see scenario.ts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onboard } from '../maas/fleet.ts';
import {
  lostUpstream,
  MAAS_SCENARIOS,
  type MaasScenarioSite,
  openMaasScenarioSite,
  serviceIs,
} from './maas-scenarios.ts';
import { ended, followAll, TIME_LIMIT } from './scenario.ts';

let site: MaasScenarioSite;
let lost: Promise<string>;
const advice = followAll(MAAS_SCENARIOS);
beforeAll(async () => {
  site = await openMaasScenarioSite();
  advice.start(site);
  lost = lostUpstream(site);
  lost.catch(() => {});
}, TIME_LIMIT);
afterAll(() => site?.stop());

describe('once the cause is removed, the advised action leads on after', () => {
  it.each(advice.codes)('%s', (code) => advice.end(code), TIME_LIMIT);
});

it(
  'a machine that its MAAS lost says why it is quarantined, and the advised onboarding brings it back',
  async () => {
    const machineId = await lost;
    const { inService, obstacles } = await site.server.admin.explainMachine({ machineId });
    expect(inService).toBe(false);
    expect(obstacles[0]).toMatchObject({
      what: expect.stringMatching(
        /^it is quarantined: its record in machine-gone is gone \(the upstream says absent/,
      ),
      action: 'onboard',
      command: `onboard ${machineId} --pool gpu`,
      params: { pool: 'gpu' },
    });
    const { operationId } = await onboard(site.server, machineId);
    expect((await ended(site.server, operationId)).status).toBe('completed');
    await serviceIs(site, machineId, 'active');
    expect((await site.server.admin.explainMachine({ machineId })).inService).toBe(true);
  },
  TIME_LIMIT,
);
