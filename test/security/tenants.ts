/** Two tenants on one server, each with the same things: a machine with a node, an agent, an operation, a rollout and a token of each role. */

import type { DescService } from '@bufbuild/protobuf';
import type { Role } from '../../src/domain/actor.ts';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { run } from '../api/fleet.ts';
import type { Client, TestServer } from '../parts/server.ts';

export interface Tenant {
  readonly name: string;
  readonly scope: string;
  readonly machineId: string;
  readonly mac: string;
  readonly operationId: string;
  readonly rolloutId: string;
  readonly pool: string;
  /** Of its operator's, on the serial console of its machine. */
  readonly consoleSessionId: string;
  readonly tokens: Readonly<Record<Role, string>>;
}

/** What each tenant has, for requests that name it. */
export async function makeTenant(server: TestServer, name: string, digit: number): Promise<Tenant> {
  const scope = `customer_id=${name}`;
  const machineId = `${name}-1`;
  const mac = `52:54:00:00:00:0${digit}`;
  const pool = `${name}-pool`;
  await server.machines.registerMachine({
    machine: {
      machineId,
      labels: { 'fake/step-ms': '1', secret: `${name}-label` },
      spec: { customerId: name, macAddresses: [mac], bmcEndpoint: `192.0.2.${digit}:623` },
    },
  });
  const { operationId } = await run(server, 'ENTER_MAINTENANCE', machineId);
  await server.admin.createPool({ name: pool });
  await server.admin.createMachine({ machineId, pool });
  await rest(server, server.adminToken, 'POST', '/api/v1/nodes', { mac_address: mac });
  const tokens = { viewer: '', operator: '', admin: '' };
  for (const role of ['viewer', 'operator', 'admin'] as const) {
    const { secret } = await server.admin.createToken({ name: `${name}-${role}`, role, scope });
    tokens[role] = secret;
  }
  const rollouts = server.client(RolloutService, tokens.admin);
  await rollouts.createBudget({ budget: { name: `${name}-budget`, maxUnavailable: '1000' } });
  const profile = { name: `${name}-hardware`, match: 'labels.none=x', expect: ['hardware.gpu.count=8'] };
  await server.client(HardwareService, tokens.admin).setHardwareProfile({ profile });
  const { rolloutId } = await rollouts.createRollout({ spec: heldRollout(machineId), requestId: name });
  const { sessionId: consoleSessionId } = await server
    .client(ConsoleService, tokens.operator)
    .openConsole({ machineId });
  return { name, scope, machineId, mac, operationId, rolloutId, pool, consoleSessionId, tokens };
}

/** A rollout that waits for an approval, so that nothing starts. */
export function heldRollout(machineId: string) {
  const step = { case: 'reboot', value: {} } as const;
  return { machineIds: [machineId], steps: [{ step }], gate: 'approval' };
}

export interface RestAnswer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each route has its own answer
  readonly body: any;
}

export async function rest(
  server: TestServer,
  token: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<RestAnswer> {
  const answer = await fetch(`${server.httpUrl}${path}`, {
    method,
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    text,
    body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : null,
  };
}

export interface TenantClients {
  readonly machines: Client<typeof MachineService>;
  readonly operations: Client<typeof OperationService>;
  readonly fleet: Client<typeof FleetService>;
  readonly admin: Client<typeof AdminService>;
  client<S extends DescService>(service: S): Client<S>;
}

export function as(server: TestServer, token: string): TenantClients {
  const client = <S extends DescService>(service: S) => server.client(service, token);
  return {
    machines: client(MachineService),
    operations: client(OperationService),
    fleet: client(FleetService),
    admin: client(AdminService),
    client,
  };
}
