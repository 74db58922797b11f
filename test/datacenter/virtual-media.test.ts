// @module-tag extended: redfish.test.ts has the client; nodes/boot.test.ts what is booted.
/** The virtual CD drive of a BMC, through the provider. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { VENDOR_NAMES, type VendorName } from '../parts/redfish/vendor-shape.ts';
import { machineWith, unusedKey } from './bmc-site.ts';
import { callFor, createSite, failureOf, type Site } from './site.ts';

const folder = mkdtempSync(join(tmpdir(), 'ingot-media-'));
const key = unusedKey();
/** Parameters that it names one after the other. */
const REFUSALS: Partial<Record<VendorName, number>> = { nvidia: 2, ami: 1 };
const ISO = 'http://site.example/rescue.iso';
let bmc: RedfishSimulator;
let site: Site;

beforeAll(() => writeFileSync(join(folder, 'password'), 'a password\n'));
afterEach(async () => {
  await site.provider.stop?.();
  site.remove();
  await bmc.stop();
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  key.remove();
});

async function open(vendor: VendorName) {
  bmc = await RedfishSimulator.start({ vendor, tls: null, password: 'a password' });
  const fields = {
    user: 'root',
    password_file: join(folder, 'password'),
    timeout_seconds: 2,
    redfish: { plaintext: 'allowed' },
  };
  site = createSite({ user: 'root', keyFile: key.file, knownHostsLine: '# no host' }, { bmc: fields });
  return { media: site.can.media, call: () => callFor(machineWith(bmc.url)) };
}

it.each(VENDOR_NAMES)('takes an image, another in its place, and gives it back: %s', async (vendor) => {
  const { media, call } = await open(vendor);
  expect((await media.inserted(call())).url).toBeNull();
  await media.insert(call(), ISO);
  expect((await media.inserted(call())).url).toBe(ISO);
  await media.insert(call(), ISO);
  await media.insert(call(), `${ISO}?2`);
  expect(bmc.media).toBe(`${ISO}?2`);
  await media.eject(call());
  await media.eject(call());
  expect(bmc.media).toBeNull();
  // Nothing is sent where the drive has what it is to have; what is demanded is found out by each of the two insertions.
  const refusals = REFUSALS[vendor] ?? 0;
  expect(bmc.changes().filter((line) => line.includes('VirtualMedia'))).toHaveLength(4 + 2 * refusals);
});

it('takes its time in a task, which is waited for', async () => {
  const { media, call } = await open('standard');
  bmc.insertsInTasks = true;
  bmc.tasks.durationMs = 2_500;
  await media.insert(call(), ISO);
  expect(bmc.media).toBe(ISO);
});

it('says why a task for it failed', async () => {
  const { media, call } = await open('standard');
  bmc.insertsInTasks = true;
  bmc.tasks.nextFails = 'The image can not be fetched.';
  expect(await failureOf(media.insert(call(), ISO))).toMatchObject({
    code: 'BMC_REFUSED',
    message: expect.stringContaining('The image can not be fetched.') as string,
  });
});

it('what a BMC accepts and does not do is a failure, with what is in the drive', async () => {
  const { media, call } = await open('standard');
  bmc.fault = 'keeps-media';
  const failure = await failureOf(media.insert(call(), ISO));
  expect(failure).toMatchObject({ code: 'BMC_REFUSED', class: 'retryable' });
  expect(failure.message).toContain('its virtual drive has nothing in it');
});
