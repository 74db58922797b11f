// @module-tag extended: story.test.ts registers agents; src/agent/figures/boot.test.ts reads the id of a boot.
/** Reboots that no operation explains, as agents report them: an event, and a reason of the lemon score. */
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { KINDS_WITHOUT_REBOOT } from '../../src/domain/hardware/unexpected-reboot.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { STEP_KINDS } from '../../src/steps/registry.ts';
import { newMachine, phaseOf, run } from '../api/fleet.ts';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { describeInBothStores } from './both-stores.ts';
import { createMachine, type Enrolled, keepalive, post, registration } from './calls.ts';

it('knows only step kinds that there are', () => {
  expect(KINDS_WITHOUT_REBOOT.filter((kind) => !STEP_KINDS.has(kind))).toEqual([]);
  expect(KINDS_WITHOUT_REBOOT).not.toContain('reboot');
});

describeInBothStores('a reboot', (store) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await store.startServer({ pools: ['gpu'] });
  });

  async function machineIn(phase: 'FACTORY_READY' | 'READY'): Promise<Enrolled> {
    return createMachine(server, 'gpu', await newMachine(server, { phase }));
  }

  async function boot(machine: Enrolled, given: Record<string, unknown>): Promise<void> {
    const provider = { provider_name: 'fake' };
    const answer = await post(
      server,
      'register',
      machine.token,
      registration(machine, { ...provider, ...given }),
    );
    expect(answer.status).toBe(200);
    expect((await post(server, 'keepalive', machine.token, keepalive(machine, provider))).status).toBe(200);
  }

  async function reboots({ machineId }: Enrolled) {
    const filter = `machine_id="${machineId}" AND kind=hardware`;
    const { events } = await server.client(FleetService, server.adminToken).listEvents({ filter });
    return events.filter(({ to }) => to === 'rebooted');
  }

  it('that nothing explains is an event and a reason of the lemon score, once', async () => {
    const machine = await machineIn('FACTORY_READY');
    const [first, second] = [randomUUID(), randomUUID()];
    await boot(machine, { boot_id: first, uptime_seconds: 900 });
    await boot(machine, { boot_id: first, uptime_seconds: 960 });
    expect(await reboots(machine)).toEqual([]);
    await boot(machine, { boot_id: second, uptime_seconds: 0 });
    await boot(machine, { boot_id: second, uptime_seconds: 60 });
    expect(await reboots(machine)).toMatchObject([
      {
        subject: 'host',
        comment: 'the machine rebooted, and no operation explains it',
        metadata: expect.stringContaining(second),
      },
    ]);
    const { machineId } = machine;
    const hardware = server.client(HardwareService, server.adminToken);
    const lemon = await until(async () => {
      const found = await hardware.getLemonScore({ machineId });
      return found.score > 0 ? found : null;
    });
    expect(lemon?.reasons).toEqual(['1 unexpected reboot (8 points)']);
  });

  it('by an operation is expected, and so is one in maintenance', async () => {
    const machine = await machineIn('READY');
    const { machineId } = machine;
    await boot(machine, { boot_id: randomUUID(), uptime_seconds: 900 });
    expect(phaseOf(await run(server, 'REBOOT', machineId))).toBe('SUCCEEDED');
    await boot(machine, { boot_id: randomUUID(), uptime_seconds: 5 });
    await run(server, 'ENTER_MAINTENANCE', machineId);
    await boot(machine, { boot_id: randomUUID(), uptime_seconds: 5 });
    expect(await reboots(machine)).toEqual([]);
    // The operations of before do not explain what comes after a sign of life.
    await run(server, 'EXIT_MAINTENANCE', machineId);
    await post(server, 'keepalive', machine.token, keepalive(machine, { provider_name: 'fake' }));
    await boot(machine, { boot_id: randomUUID(), uptime_seconds: 5 });
    expect(await reboots(machine)).toHaveLength(1);
  });

  it('is not known of an agent that does not report its boot, or reports it wrongly', async () => {
    const machine = await machineIn('FACTORY_READY');
    await boot(machine, {});
    await boot(machine, { boot_id: randomUUID() });
    for (const wrong of [7, '', 'x'.repeat(65), null]) await boot(machine, { boot_id: wrong });
    await boot(machine, { boot_id: randomUUID(), uptime_seconds: 'long' });
    expect(await reboots(machine)).toEqual([]);
  });
});
