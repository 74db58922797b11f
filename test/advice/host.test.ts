// @module-tag extended: server.test.ts follows advice for other codes in the same way.
/** The advice for failures of SSH and of joining clusters: see scenario.ts. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { HOST_SCENARIOS, type HostSite, openHostSite } from './host-scenarios.ts';
import { followAll, TIME_LIMIT } from './scenario.ts';

let site: HostSite;
const advice = followAll(HOST_SCENARIOS);
beforeAll(async () => {
  site = await openHostSite();
  advice.start(site);
}, TIME_LIMIT);
afterAll(() => site?.stop());

describe('once the cause is removed, the advised action leads on after', () => {
  it.each(advice.codes)('%s', (code) => advice.end(code), TIME_LIMIT);
});
