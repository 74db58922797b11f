/** The advice for failures of the engine and of the server: see scenario.ts. */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { followAll, TIME_LIMIT } from './scenario.ts';
import { openServerSite, SERVER_SCENARIOS, type ServerSite } from './server-scenarios.ts';

let site: ServerSite;
const advice = followAll(SERVER_SCENARIOS);
beforeAll(async () => {
  site = await openServerSite();
  advice.start(site);
}, TIME_LIMIT);
afterAll(() => site?.stop());

describe('once the cause is removed, the advised action leads on after', () => {
  it.each(advice.codes)('%s', (code) => advice.end(code), TIME_LIMIT);
});
