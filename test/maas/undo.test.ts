// @module-tag extended: decommission.test.ts and onboarding.test.ts undo what they made.
/** What a cancel or a clean restart undoes of an onboarding: what it created, and nothing else. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OperatorAction_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { type Operation, StepStatus_State } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { refusal, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  ended,
  type MaasSite,
  newMachine,
  onboard,
  openMaasSite,
  startMaasServer,
  statusOf,
} from './fleet.ts';

const TIME_LIMIT = 120_000;
let site: MaasSite;
let server: TestServer;

beforeAll(async () => {
  site = await openMaasSite({ waits: { power_off_seconds: 1 } });
  server = await startMaasServer(site);
}, TIME_LIMIT);
afterAll(async () => {
  await server?.stop();
  await site?.stop();
});

type Machine = Awaited<ReturnType<typeof newMachine>>;

const act = (operationId: string, action: keyof typeof OperatorAction_Value) =>
  server.admin.actOnOperation({
    operationId,
    action: OperatorAction_Value[action],
    reason: 'so it shall be',
  });

async function inMaas({ mac }: Machine) {
  return (await site.simulator.admin.machines()).filter(({ mac_addresses: macs }) => macs.includes(mac));
}

/** Deployed, and waiting for an agent that never comes. */
async function waitingForAgent(machine: Machine): Promise<Operation> {
  await site.simulator.admin.fault({ fault: 'agent_never_enrols', mac: machine.mac, times: null });
  const operation = await onboard(server, machine.id);
  return until(
    () => server.operations.getOperation({ operationId: operation.operationId }),
    ({ currentStep }) => currentStep === 'wait_for_agent_enrollment',
    60_000,
  );
}

async function tokensOf({ id }: Machine): Promise<number> {
  return (await server.sql('SELECT 1 FROM agents WHERE machine_id = $1', [id])).length;
}

const undoneIn = ({ steps }: Operation) =>
  steps.filter(({ state }) => state === StepStatus_State.UNDONE).map(({ name }) => name);

describe.concurrent('a cancel', () => {
  it(
    'releases what it deployed, revokes the agent’s token, and deletes the record that it added',
    async () => {
      const machine = await newMachine(server);
      const { operationId } = await waitingForAgent(machine);
      expect([(await inMaas(machine))[0]?.status_name, await tokensOf(machine)]).toEqual(['Deployed', 1]);
      await act(operationId, 'CANCEL');
      const canceled = await ended(server, { operationId });
      expect(canceled.status).toBe('cancelled');
      expect(undoneIn(canceled)).toEqual([
        'create_or_find_in_maas',
        'commission_node',
        'wait_for_ready',
        'deploy_via_maas',
        'recover_for_datasource_retry',
      ]);
      expect(await inMaas(machine)).toEqual([]);
      expect(await tokensOf(machine)).toBe(0);
      expect(await statusOf(server, machine.id)).toMatchObject({
        service: 'enrolling',
        presence: 'expired',
        activeOperationId: '',
        observed: { state: 'absent' },
      });
    },
    TIME_LIMIT,
  );

  it(
    'leaves a record that was there before, released',
    async () => {
      const machine = await newMachine(server);
      await site.simulator.admin.addMachine({
        mac_addresses: [machine.mac],
        hostname: 'theirs',
        status: 'Ready',
      });
      const { operationId } = await waitingForAgent(machine);
      await act(operationId, 'CANCEL');
      expect((await ended(server, { operationId })).status).toBe('cancelled');
      expect(await inMaas(machine)).toMatchObject([{ hostname: 'theirs', status_name: 'Ready' }]);
    },
    TIME_LIMIT,
  );

  it('leaves a deployment that another user made, also when a failed operation is canceled', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await newMachine(server);
    await site.simulator.admin.addMachine({
      mac_addresses: [machine.mac],
      hostname: 'used',
      status: 'Deployed',
    });
    const failed = await ended(server, await onboard(server, machine.id));
    expect(failed.error?.code).toBe('HARDWARE_SYNC_OFF');
    await act(failed.operationId, 'CANCEL');
    expect((await ended(server, failed)).status).toBe('cancelled');
    expect(await inMaas(machine)).toMatchObject([{ hostname: 'used', status_name: 'Deployed' }]);
    const { conditions } = await statusOf(server, machine.id);
    expect(conditions.find(({ type }) => type === 'NeedsIntervention')?.status).toBe(false);
  });

  it('leaves a machine that another user owns, when MAAS refused to deploy it', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await newMachine(server);
    await site.simulator.admin.addMachine({
      mac_addresses: [machine.mac],
      hostname: 'taken',
      status: 'Allocated',
    });
    await site.simulator.admin.fault({ fault: 'echo', mac: machine.mac, op: 'deploy', times: null });
    const failed = await ended(server, await onboard(server, machine.id));
    expect(failed.error?.details.step).toBe('deploy_via_maas');
    await act(failed.operationId, 'CANCEL');
    expect((await ended(server, failed)).status).toBe('cancelled');
    expect(await inMaas(machine)).toMatchObject([{ hostname: 'taken', status_name: 'Allocated' }]);
  });

  it('comes too late for a machine that is in service', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await newMachine(server);
    await site.simulator.admin.fault({ fault: 'pxe_stays_wrong', mac: machine.mac, times: null });
    const { operationId } = await ended(server, await onboard(server, machine.id));
    await server.admin.setServiceState({
      machineId: machine.id,
      service: 'quarantined',
      reason: 'by hand',
    });
    await server.admin.setServiceState({
      machineId: machine.id,
      service: 'active',
      reason: 'by hand',
      force: true,
    });
    for (const action of ['CANCEL', 'RESTART_CLEAN'] as const) {
      expect(await refusal(act(operationId, action))).toMatchObject({ reason: 'ACTION_NOT_APPLICABLE' });
    }
    expect(await inMaas(machine)).toHaveLength(1);
  });
});

/** Alone: how disks are erased is the whole site's. */
describe('a cancel at a site that erases at every release', () => {
  it.each(['power_off_failure', 'power_off_failure_quiet'] as const)(
    'does not wait for a release that hangs after the erasing (%s)',
    { tags: ['extended'], timeout: TIME_LIMIT },
    async (fault) => {
      const { admin } = site.simulator;
      const machine = await newMachine(server);
      const { operationId } = await waitingForAgent(machine);
      await admin.changeSite({ settings: { enable_disk_erasing_on_release: true } });
      await admin.fault({ fault, mac: machine.mac });
      const [{ system_id: systemId } = { system_id: '' }] = await inMaas(machine);
      await act(operationId, 'CANCEL');
      const canceled = await ended(server, { operationId });
      await admin.changeSite({ settings: { enable_disk_erasing_on_release: false } });
      expect(canceled.status).toBe('cancelled');
      expect(await inMaas(machine)).toEqual([]);
      const orders = (await admin.requests())
        .filter(({ method, path }) => method === 'POST' && path.includes(systemId))
        .map(({ op }) => op);
      expect(orders.slice(-3)).toEqual(['release', 'abort', 'release']);
    },
  );
});

describe('a clean restart', () => {
  it('takes everything back first, also what an earlier round made, and then onboards', {
    tags: ['extended'],
    timeout: TIME_LIMIT,
  }, async () => {
    const machine = await newMachine(server);
    const { operationId } = await waitingForAgent(machine);
    await act(operationId, 'MARK_MANUAL_INTERVENTION_REQUIRED');
    // Another round finds what the first one made: it still belongs to this operation.
    await act(operationId, 'RERUN');
    await until(
      () => server.operations.getOperation({ operationId }),
      ({ currentStep }) => currentStep === 'wait_for_agent_enrollment',
      60_000,
    );
    await act(operationId, 'MARK_MANUAL_INTERVENTION_REQUIRED');
    const [before] = await inMaas(machine);
    await site.simulator.admin.clearFaults();
    await act(operationId, 'RESTART_CLEAN');
    expect((await ended(server, { operationId })).status).toBe('completed');
    const [after, ...others] = await inMaas(machine);
    expect(others).toEqual([]);
    expect(after?.status_name).toBe('Deployed');
    expect(after?.system_id).not.toBe(before?.system_id);
    expect(await statusOf(server, machine.id)).toMatchObject({ service: 'active', presence: 'ready' });
  });
});
