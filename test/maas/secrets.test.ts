// @module-tag extended: client.test.ts has what a message may contain; this scans every table.
/** Keys, passwords and user data go to MAAS and nowhere else, whatever MAAS answers. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { StepFailure } from '../../src/engine/step-handler.ts';
import { createAuthority } from '../parts/kubernetes/certificates.ts';
import { TRANSPORT_FAULTS } from '../parts/maas/faults.ts';
import { type MaasSimulator, startMaasSimulator } from '../parts/maas/simulator.ts';
import { BMC_PASSWORD, callFor, failureOf, maasAt, machineWith } from './call.ts';

const API_KEY = 'Quiesh7aeW:aiph5ohD9u:Zoh1fo/o+Th8';
const TOKEN = 'ohSh5aethe7ohS-machine-token';
const USER_DATA = `#cloud-config\nwrite_files:\n  - path: /etc/ingot/agent.env\n    content: INGOT_MACHINE_TOKEN=${TOKEN}\n`;
const ENCODED = Buffer.from(USER_DATA).toString('base64');
const SECRETS = [...API_KEY.split(':'), BMC_PASSWORD, TOKEN, ENCODED, encodeURIComponent(ENCODED)];

let simulator: MaasSimulator;
beforeAll(async () => {
  simulator = await startMaasSimulator({ apiKey: API_KEY });
});
afterAll(() => simulator.stop());
beforeEach(() => simulator.admin.clearFaults());

const hasSecret = (text: string) => SECRETS.filter((secret) => text.includes(secret));

test.each(TRANSPORT_FAULTS)(
  'whatever comes back (%s), nothing of them is in a message, a log or a URL',
  async (fault) => {
    const site = maasAt(simulator, { request_timeout_seconds: 0.4 });
    const logged: string[] = [];
    const call = callFor({ log: (text) => logged.push(text) });
    const mac = `52:54:00:02:00:${TRANSPORT_FAULTS.indexOf(fault).toString(16).padStart(2, '0')}`;
    const { system_id: id } = await simulator.admin.addMachine({ mac_addresses: [mac], status: 'Ready' });
    await simulator.admin.fault({ fault, times: null, ms: 600 });
    const power = await site.maas.site.resolvePower(
      machineWith({ bmc_endpoint: '10.0.0.7' }),
      callFor().signal,
    );
    const newMachine = {
      hostname: 'n',
      architecture: 'amd64/generic',
      macAddresses: ['52:54:00:03:00:01'],
      ...power,
    };
    const deployment = {
      userData: USER_DATA,
      osystem: 'ubuntu',
      distroSeries: 'noble',
      enableHardwareSync: false,
    };
    // A 404 is an answer to a read, and no answer to a deploy is read: those two do not fail.
    const ends = await Promise.allSettled([
      site.maas.create(call, newMachine),
      site.maas.deploy(call, id, deployment),
      site.maas.read(call, id),
    ]);
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    expect(failures).not.toEqual([]);
    for (const failure of failures) expect(failure).toBeInstanceOf(StepFailure);
    expect(failures.flatMap((failure) => hasSecret(inspect(failure, { depth: 9 })))).toEqual([]);
    expect(hasSecret(logged.join('\n'))).toEqual([]);
    expect(hasSecret(JSON.stringify(await simulator.admin.requests()))).toEqual([]);
    site.remove();
  },
);

test('a MAAS that repeats all that it was sent is quoted without them', async () => {
  const site = maasAt(simulator);
  await simulator.admin.fault({ fault: 'echo' });
  const power = await site.maas.site.resolvePower(
    machineWith({ bmc_endpoint: '10.0.0.7' }),
    callFor().signal,
  );
  const failure = await failureOf(
    site.maas.create(callFor(), { hostname: 'n', architecture: 'a/b', macAddresses: [], ...power }),
  );
  expect(failure.message).toContain('[secret]');
  expect(hasSecret(failure.message)).toEqual([]);
  site.remove();
});

test('over TLS they go only to the server that the certificate names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-maas-tls-'));
  const ours = createAuthority(folder, 'ours');
  const theirs = createAuthority(folder, 'theirs');
  const { certificateFile, keyFile } = ours.issue('maas', 'server');
  const seen: string[] = [];
  const server = createServer(
    { cert: readFileSync(certificateFile), key: readFileSync(keyFile) },
    (request, response) => {
      seen.push(request.headers.authorization ?? '');
      response.end('[]');
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/MAAS`;
  const read = async (settings: Readonly<Record<string, unknown>>) => {
    const site = maasAt({ url, apiKey: API_KEY }, settings);
    try {
      return await site.maas.findByMac(callFor(), ['52:54:00:00:00:01']);
    } finally {
      site.remove();
    }
  };
  for (const settings of [{ ca_file: theirs.caFile }, {}]) {
    const failure = await failureOf(read(settings));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_CERTIFICATE_INVALID' });
  }
  expect(seen).toEqual([]);
  expect(await read({ ca_file: ours.caFile })).toEqual([]);
  expect(seen).toHaveLength(1);
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});
