// @module-tag extended: ipmi.test.ts has the BMC; api/failures.test.ts how failures are served.
/** Operations and runs of a real server on machines whose power is behind a real BMC. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { conditionOf, ended, fresh, get, phaseOf, run, start } from '../api/fleet.ts';
import { newPlan, runEnded, runPhase, startRun, v1Of } from '../api-v1/runs.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { bmcFields, unusedKey } from './bmc-site.ts';

const programs = needs('ipmi');

describe.skipIf(programs.isMissing)(programs.title('through a server'), () => {
  let bmc: IpmiBmc;
  let server: TestServer;
  let machineId: string;
  const key = unusedKey();

  beforeAll(async () => {
    bmc = await startBmc();
    const configuration = datacenterConfiguration.parse({
      kind: 'datacenter',
      ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
      bmc: bmcFields(bmc),
    });
    const providers = { 'dc-1': configuration };
    server = await startTestServer({ providers, probes: { intervalSeconds: 1 } });
  });
  beforeEach(async () => {
    machineId = fresh('dc-machine');
    const spec = { provider: 'dc-1', bmcEndpoint: bmc.endpoint };
    // The BMC is that of one machine at a time.
    await server.sql(`UPDATE machines SET spec = spec || '{"bmc_endpoint": ""}'`);
    await server.machines.registerMachine({ machine: { machineId, spec } });
    await run(server, 'ENTER_MAINTENANCE', machineId);
  });
  afterAll(async () => {
    await server.stop();
    await bmc.stop();
    key.remove();
  });

  const powerCommands = () => bmc.commands().filter((command) => command.startsWith('set power'));

  it('a machine that is off is booted by a reboot', async () => {
    expect(bmc.isOn()).toBe(false);
    const operation = await run(server, 'REBOOT', machineId);
    expect(phaseOf(operation)).toBe('SUCCEEDED');
    expect(bmc.isOn()).toBe(true);
    expect(powerCommands()).toEqual(['set power 1']);
  });

  it('a machine that is on is seen off and then on, once', { tags: ['extended'] }, async () => {
    const boots = bmc.boots().length;
    const before = powerCommands().length;
    const operation = await run(server, 'REBOOT', machineId);
    expect(phaseOf(operation)).toBe('SUCCEEDED');
    expect(powerCommands().slice(before)).toEqual(['set power 0', 'set power 1']);
    expect(bmc.boots().length).toBe(boots + 1);
    // The host was not probed, so nothing says that it is there.
    expect(conditionOf(await get(server, machineId), 'Reachable')?.reason).not.toBe('RebootVerified');
  });

  it('a plan that sets netboot and reboots boots it from the network', async () => {
    const { planId } = await newPlan(server, [
      { name: 'net', kind: { case: 'netboot', value: { mode: 'PXE' } } },
      { name: 'cycle', kind: { case: 'reboot', value: { mode: 'bmc' } } },
    ]);
    const v1 = v1Of(server);
    const ran = await runEnded(v1, await startRun(v1, 'REPAVE', machineId, { planId }));
    expect(runPhase(ran)).toBe('SUCCEEDED');
    expect(bmc.boots().at(-1)).toBe('pxe');
  });

  it('a reboot that is canceled half-way leaves the machine on', { tags: ['extended'] }, async () => {
    expect(bmc.isOn()).toBe(true);
    const boots = bmc.boots().length;
    bmc.fault('ignores-off');
    const operation = await start(server, 'REBOOT', machineId);
    await until(
      () => server.operations.getOperation({ operationId: operation.operationId }),
      ({ waitingFor }) => waitingFor === 'waiting for the power to be off',
    );
    await server.machines.cancelOperation({ operationId: operation.operationId });
    // The machine obeys late, while the operation is being taken back.
    bmc.repair();
    bmc.losePower();
    expect(phaseOf(await ended(server, operation))).toBe('CANCELED');
    expect(bmc.isOn()).toBe(true);
    expect(bmc.boots().length).toBe(boots + 1);
  });

  it('a BMC that disappears shows in the conditions, and steps that need it wait for it', {
    tags: ['extended'],
  }, async () => {
    const own = await startBmc();
    onTestFinished(() => own.stop());
    const spec = { provider: 'dc-1', bmcEndpoint: own.endpoint };
    const id = fresh('dc-machine');
    await server.machines.registerMachine({ machine: { machineId: id, spec } });
    const reachable = async () => conditionOf(await get(server, id), 'BMCReachable');
    expect(await until(reachable, (seen) => seen?.status === true)).toMatchObject({ reason: 'BmcOK' });
    await own.kill();
    const lost = await until(reachable, (seen) => seen?.status === false, 25_000);
    expect(lost).toMatchObject({ reason: 'NoAnswer' });
    await run(server, 'ENTER_MAINTENANCE', id);
    const operation = await start(server, 'REBOOT', id);
    const waiting = await until(
      () => server.operations.getOperation({ operationId: operation.operationId }),
      ({ waitingFor }) => waitingFor.includes('to answer since'),
      25_000,
    );
    expect(waiting.waitingFor).toMatch(/^waiting for the BMC to answer since \S+Z \(127\.0\.0\.1:\d+\)$/);
    expect(waiting.steps[0]?.retryCount).toBe(0);
    await server.machines.cancelOperation({ operationId: operation.operationId });
    expect(phaseOf(await ended(server, operation))).toBe('CANCELED');
  });

  it('the password is in nothing that was stored or logged', async () => {
    const rows = await server.sql(`
      SELECT row_to_json(t)::text AS text FROM operations t
      UNION ALL SELECT row_to_json(t)::text FROM events t
      UNION ALL SELECT row_to_json(t)::text FROM machines t
      UNION ALL SELECT row_to_json(t)::text FROM operation_logs t`);
    const everything = JSON.stringify([rows, server.logged]);
    expect(everything).toContain('Switching power off over IPMI');
    expect(everything).not.toContain(bmc.password);
  });
});
