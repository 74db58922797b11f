// @module-tag extended: redfish-verbs.test.ts has the same verbs, and ipmi-texts its parsers.
/** What people have a BMC do, over IPMI, through the API of a real server, ipmitool and ipmi_sim. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BmcService } from '../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { ended, fresh, get, phaseOf } from '../api/fleet.ts';
import { bmcFields, unusedKey } from '../datacenter/bmc-site.ts';
import { needs } from '../parts/debian-packages.ts';
import { everythingStored } from '../parts/everything-stored.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

const programs = needs('ipmi');
const OLD = 'Old-Password-16c';
const key = unusedKey();
let server: TestServer;
let bmc: IpmiBmc;
let machineId: string;

beforeAll(async () => {
  if (programs.isMissing) return;
  bmc = await startBmc({ password: OLD });
  const ssh = { user: 'root', private_key_file: key.file, insecure_accept_any: true };
  const dc = datacenterConfiguration.parse({
    kind: 'datacenter',
    ssh,
    bmc: { ...bmcFields(bmc), timeout_seconds: 15 },
  });
  const { password_file: _file, ...rest } = bmcFields(bmc);
  const fromEnvironment = datacenterConfiguration.parse({
    kind: 'datacenter',
    ssh,
    bmc: { ...rest, password_env: 'PATH' },
  });
  server = await startTestServer({ providers: { dc, environment: fromEnvironment } });
  machineId = fresh('metal');
  await server.machines.registerMachine({
    machine: { machineId, spec: { provider: 'dc', bmcEndpoint: bmc.endpoint } },
  });
}, 60_000);
afterAll(async () => {
  await server?.stop();
  await bmc?.stop();
  key.remove();
});

const api = () => server.client(BmcService, server.adminToken);
const start = (id = machineId) => ({ machineId: id, requestId: fresh('r') });
const power = async (action: string) => ended(server, await api().changePower({ ...start(), action }));
const password = () => readFileSync(bmc.passwordFile, 'utf8').trim();
const ipmitool = (...command: string[]) => {
  const [host = '', port = ''] = bmc.endpoint.split(':');
  const args = ['-I', 'lanplus', '-C', '3', '-H', host, '-p', port, '-U', bmc.user, '-E', ...command];
  return spawnSync('ipmitool', args, {
    env: { PATH: process.env.PATH, IPMITOOL_PASSWORD: password() },
    encoding: 'utf8',
  });
};

describe.skipIf(programs.isMissing)(programs.title('over IPMI'), () => {
  it('the power is switched, reset and cycled, and what IPMI lacks is refused in words', async () => {
    for (const [action, command] of [
      ['on', 'set power 1'],
      ['reset', 'set reset 1'],
      ['off', 'set power 0'],
    ] as const) {
      const done = await power(action);
      expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
      expect(bmc.commands()).toContain(command);
    }
    expect(bmc.isOn()).toBe(false);
    const cycled = await power('cycle');
    expect(phaseOf(cycled), cycled.error?.message).toBe('SUCCEEDED');
    await until(() => bmc.isOn());
    const restarted = await power('restart');
    expect(restarted.error?.message).toContain('IPMI, which has no command for restart');
    // ipmi_sim has no NMI.
    expect((await power('nmi')).error?.code).toBe('BMC_REFUSED');
  }, 60_000);

  it('the power is read, and the BMC says that it has no readings', async () => {
    const { power: state, problem, canCap } = await api().getPower({ machineId });
    expect(state).toBe('on');
    expect(canCap).toBe(false);
    expect(problem).toContain('refused "dcmi power reading": Invalid command');
    const capped = await ended(server, await api().setPowerCap({ ...start(), watts: 450 }));
    expect(capped.error?.code).toBe('BMC_REFUSED');
  }, 60_000);

  it('the indicator goes on, and off by itself', async () => {
    await api().locateMachine({ machineId, duration: '2s' });
    expect(bmc.isLit()).toBe(true);
    await until(() => !bmc.isLit());
    await until(async () => (await get(server, machineId)).status?.locating === undefined);
  }, 60_000);

  it('the boot override is set and read back, and what IPMI lacks is refused in words', async () => {
    for (const source of ['cd', 'setup', 'disk', 'pxe', 'none']) {
      const done = await ended(server, await api().setBootOverride({ ...start(), source }));
      expect(phaseOf(done), `${source}: ${done.error?.message}`).toBe('SUCCEEDED');
      expect((await api().getBootOverride({ machineId })).source).toBe(source);
    }
    for (const source of ['http', 'usb']) {
      const done = await ended(server, await api().setBootOverride({ ...start(), source }));
      expect(done.error?.message).toContain(`IPMI, which has no boot from ${source}`);
    }
  }, 60_000);

  it('the log is cleared', async () => {
    // Add SEL Entry: a system event of a sensor.
    const entry = '0 0 2 0 0 0 0 0x20 0 4 1 1 1 0xff 0xff 0xff'.split(' ');
    expect(ipmitool('raw', '0x0a', '0x44', ...entry).status).toBe(0);
    expect(ipmitool('sel', 'info').stdout).toMatch(/Entries +: 1/);
    const done = await ended(server, await api().clearBmcLog(start()));
    expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
    expect(ipmitool('sel', 'info').stdout).toMatch(/Entries +: 0/);
  }, 60_000);

  it('the BMC is restarted and answers again', { tags: ['extended'], timeout: 60_000 }, async () => {
    const done = await ended(server, await api().resetBmc(start()));
    expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
  });

  it('there is no certificate, which is said in words', async () => {
    const refused = await refusal(api().getBmcCertificate({ machineId }));
    expect(refused).toMatchObject({ reason: 'BMC_CALL_FAILED' });
    expect(refused.message).toContain('has no certificate');
  });

  it('the password is rotated on the BMC and in its file, and is stored and shown nowhere else', async () => {
    const done = await ended(server, await api().rotateBmcPassword(start()));
    expect(phaseOf(done), done.error?.message).toBe('SUCCEEDED');
    const now = password();
    expect(now).not.toBe(OLD);
    expect(ipmitool('chassis', 'power', 'status').status).toBe(0);
    expect(readdirSync(dirname(bmc.passwordFile)).filter((name) => name.includes('pending'))).toEqual([]);
    expect((await api().getPower({ machineId })).power).toBe('on');
    const stored = await everythingStored(server);
    for (const secret of [OLD, now]) expect(stored).not.toContain(secret);
  }, 60_000);

  it('a password that another machine has, too, stays, and so does one of the environment', async () => {
    const spec = { provider: 'dc', bmcEndpoint: '127.0.0.1:9' };
    const other = fresh('metal');
    await server.machines.registerMachine({ machine: { machineId: other, spec } });
    const before = password();
    const shared = await refusal(api().rotateBmcPassword(start()));
    expect(shared).toMatchObject({ reason: 'BMC_PASSWORD_SHARED' });
    await server.machines.registerMachine({
      machine: { machineId: other, spec: { ...spec, provider: 'environment' } },
    });
    const fixed = await refusal(api().rotateBmcPassword(start(other)));
    expect(fixed).toMatchObject({ reason: 'BMC_PASSWORD_NOT_ROTATABLE' });
    expect(fixed.message).toContain('the environment variable PATH');
    expect(password()).toBe(before);
  });
});
