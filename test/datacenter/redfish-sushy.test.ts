/** The simulated BMC, driven by a client that we did not write: what it shows is Redfish, and not only what our client expects. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/package-root.ts';
import { testAuthority } from '../parts/certificates.ts';
import { needs } from '../parts/debian-packages.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';

const programs = needs('sushy');
const script = join(packageRoot(), 'test/parts/redfish/drive-with-sushy.py');

describe.skipIf(programs.isMissing)(programs.title('sushy'), () => {
  it.each(['standard', 'dell', 'supermicro'] as const)('drives a BMC as of %s', async (vendor) => {
    const authority = testAuthority();
    const tls = authority.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' });
    const bmc = await RedfishSimulator.start({ vendor, tls });
    const image = Buffer.from('the new firmware');
    bmc.updates.add(image, { BIOS: '2.0' });
    bmc.tasks.durationMs = 300;
    const images = createServer((_request, response) => response.end(image)).listen(0, '127.0.0.1');
    await once(images, 'listening');
    const { port } = images.address() as AddressInfo;
    // Of others, it takes no way that they have: a push, or a task whose address has another host in it.
    const updates = vendor === 'standard';
    try {
      const args = [script, bmc.url, bmc.user, bmc.password, authority.caFile];
      args.push(updates ? `http://127.0.0.1:${port}/bios.bin` : '');
      // Variables such as REQUESTS_CA_BUNDLE would count before the authority that is named.
      const { stdout } = await promisify(execFile)('/usr/bin/python3', args, { env: {} });
      const { resets, ...seen } = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
      // It does not read action infos, and then takes every reset for allowed.
      if (bmc.shape.resetsListed === 'action') expect(resets).toEqual([...bmc.shape.resets].sort());
      expect(seen).toEqual({
        version: '1.11.0',
        before: 'Off',
        after_on: 'On',
        boot: ['Pxe', 'Once'],
        boot_disc: [vendor === 'supermicro' ? 'UsbCd' : 'Cd', 'UEFI'],
        boot_off: 'Disabled',
        session_timeout: 1_800,
        sessions: 1,
        after_off: 'Off',
        inserted: [true, 'http://site.example/rescue.iso'],
        ejected: false,
        bios_waits: ['Enabled', 'Disabled'],
        bios_after: { LogicalProc: 'Disabled' },
        jobs: bmc.shape.scheduledJobs ? [['Configure: BIOS', 'Completed', 100]] : [],
        ...(updates && {
          update_starts: true,
          update_ends: false,
          update: ['Firmware Update', 'Completed'],
          firmware: '2.0',
        }),
        wrong_password: 'refused',
      });
    } finally {
      await bmc.stop();
      images.close();
      authority.remove();
    }
  });
});
