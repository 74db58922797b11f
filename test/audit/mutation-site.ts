/** The server of every-mutation.test.ts, what a row of it is, and what must be there before a call. */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll } from 'vitest';
import type { EventKind } from '../../src/domain/event.ts';
import { BmcService } from '../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { Console_State, ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import {
  RolloutService,
  type RolloutStepSchema,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { ViewService } from '../../src/gen/baremetal/fleet/v1/view_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { approvalsConfiguration } from '../../src/server/settings/approval-configuration.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { createNode, prepareInstall } from '../nodes/rest.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { heldRollout } from '../security/tenants.ts';

export let server: TestServer;

export function setUpMutations(): void {
  beforeAll(async () => {
    const approvals = approvalsConfiguration.parse(['type=REIMAGE AND labels.env=prod']);
    server = await startTestServer({ pools: ['pool'], configuration: { approvals } });
    await prepareInstall(server);
  });
  afterAll(() => server?.stop());
}

/** What the call changes, done for real; it returns when the call is answered. */
export interface Changes {
  readonly kind: EventKind;
  /** Calls of many agents are stored in one batch: their events name the machine, not the call. */
  readonly origin?: 'none';
  /** What must be there before the call. */
  readonly before?: () => Promise<string>;
  readonly call: (given: string) => Promise<unknown>;
}

export type Row = 'reads' | Changes | { readonly why: string };

/** With a machine whose service state is this, as if its workflow had brought it there. */
export async function inService(service: string): Promise<string> {
  const machineId = await newMachine(server);
  await server.sql('UPDATE machines SET service = $2 WHERE machine_id = $1', [machineId, service]);
  return machineId;
}

/** A reimage that waits for its second person. */
export async function waitingForApproval(): Promise<string> {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { env: 'prod' } });
  const { secret } = await server.admin.createToken({ name: fresh('requester'), role: 'operator' });
  const asked = await server
    .client(MachineService, secret)
    .reimageMachine({ machineId, requestId: requestId() });
  return asked.operationId;
}

/** A node that was installed, in maintenance. */
export async function maintainedNode(): Promise<string> {
  const { id } = await createNode(server);
  await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [id]);
  await run(server, 'ENTER_MAINTENANCE', id);
  return id;
}

export const rollouts = () => server.client(RolloutService, server.adminToken);

/** A rollout that waits for the approval of its wave. */
export async function held(): Promise<string> {
  const machineId = await newMachine(server, { phase: 'READY' });
  const spec = heldRollout(machineId);
  const { rolloutId } = await rollouts().createRollout({ spec, requestId: requestId() });
  await until(
    () => rollouts().getRollout({ rolloutId }),
    ({ waves }) => waves[0]?.state === Wave_State.WAITING_FOR_APPROVAL,
  );
  return rolloutId;
}

export function onRollout(change: (rolloutId: string) => Promise<unknown>): Changes {
  return { kind: 'rollout', before: held, call: change };
}

export async function endedRollout(
  machineIds: string[],
  step: MessageInitShape<typeof RolloutStepSchema>,
): Promise<string> {
  const spec = { machineIds, steps: [step] };
  const { rolloutId } = await rollouts().createRollout({ spec, requestId: requestId() });
  await until(
    () => rollouts().getRollout({ rolloutId }),
    ({ finishedAt }) => finishedAt !== undefined,
  );
  return rolloutId;
}

export const views = () => server.client(ViewService, server.adminToken);
export const newView = () => ({ page: 'machines', name: fresh('view'), query: 'filter=phase%3DREADY' });

export const bmc = () => server.client(BmcService, server.adminToken);
export const hardware = () => server.client(HardwareService, server.adminToken);
export async function newProfile(): Promise<string> {
  const profile = { name: fresh('profile'), match: 'labels.sku=x', expect: ['hardware.gpu.count=8'] };
  return (await hardware().setHardwareProfile({ profile })).name;
}

export const consoles = () => server.client(ConsoleService, server.adminToken);
export async function openedConsole(): Promise<string> {
  return (await consoles().openConsole({ machineId: await newMachine(server) })).sessionId;
}
/** A session that has the turn, of a console that is connected. */
export async function writingConsole(): Promise<string> {
  const sessionId = await openedConsole();
  const { machineId } = await consoles().takeConsole({ sessionId });
  await until(
    () => consoles().getConsole({ machineId }),
    ({ state }) => state === Console_State.OPEN,
  );
  return sessionId;
}

export const runs = () => server.client(RunService, server.adminToken);
export const slow = { 'fake/step-ms': '60000' };

export const requestId = () => fresh('request');
export const machine = () => newMachine(server);
