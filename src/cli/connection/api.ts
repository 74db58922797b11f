import { Client as Channel } from '@grpc/grpc-js';
import type { AdminService } from '../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { BmcService } from '../../gen/baremetal/fleet/v1/bmc_service_pb.ts';
import type { ConsoleService } from '../../gen/baremetal/fleet/v1/console_service_pb.ts';
import type { FleetService } from '../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { HardwareService } from '../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import type { RolloutService } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { ViewService } from '../../gen/baremetal/fleet/v1/view_service_pb.ts';
import type { MachineService as V1MachineService } from '../../gen/baremetal/v1/machine_service_pb.ts';
import type { PlanService } from '../../gen/baremetal/v1/plan_service_pb.ts';
import type { RunService } from '../../gen/baremetal/v1/run_service_pb.ts';
import type { MachineService } from '../../gen/baremetal/v2/machine_service_pb.ts';
import type { OperationService } from '../../gen/baremetal/v2/operation_service_pb.ts';
import { channelSecurity } from './channel-security.ts';
import type { ClientTls } from './client-tls.ts';
import type { FoundToken } from './find-token.ts';
import { type Client, createClient } from './grpc-client.ts';
import { addressText, type ServerAddress } from './server-address.ts';

/** The clients of all gRPC services, on one channel. */
export interface Api {
  readonly address: string;
  readonly tokenOrigin: string;
  readonly machines: Client<typeof MachineService>;
  readonly operations: Client<typeof OperationService>;
  readonly v1Machines: Client<typeof V1MachineService>;
  readonly plans: Client<typeof PlanService>;
  readonly runs: Client<typeof RunService>;
  readonly admin: Client<typeof AdminService>;
  readonly fleet: Client<typeof FleetService>;
  readonly rollouts: Client<typeof RolloutService>;
  readonly hardware: Client<typeof HardwareService>;
  readonly consoles: Client<typeof ConsoleService>;
  readonly bmc: Client<typeof BmcService>;
  readonly views: Client<typeof ViewService>;
  close(): void;
}

const CHANNEL_OPTIONS = {
  // A page of a thousand machines with large labels exceeds the default of 4 MB.
  'grpc.max_receive_message_length': -1,
  // Detects a server that disappeared without closing the connection.
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
  // A command that waits for a restart reconnects soon after it.
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 2_000,
};

export function connect(
  server: ServerAddress,
  { token, origin }: FoundToken,
  tls: ClientTls = { ca: null, pair: null },
  reason?: string,
): Api {
  const address = addressText(server);
  const { security, options } = channelSecurity(server, tls);
  const channel = new Channel(address, security, { ...CHANNEL_OPTIONS, ...options });
  const settings = { channel, token, reason };
  return {
    address,
    tokenOrigin: origin,
    machines: createClient(
      async () => (await import('../../gen/baremetal/v2/machine_service_pb.ts')).MachineService,
      settings,
    ),
    operations: createClient(
      async () => (await import('../../gen/baremetal/v2/operation_service_pb.ts')).OperationService,
      settings,
    ),
    v1Machines: createClient(
      async () => (await import('../../gen/baremetal/v1/machine_service_pb.ts')).MachineService,
      settings,
    ),
    plans: createClient(
      async () => (await import('../../gen/baremetal/v1/plan_service_pb.ts')).PlanService,
      settings,
    ),
    runs: createClient(
      async () => (await import('../../gen/baremetal/v1/run_service_pb.ts')).RunService,
      settings,
    ),
    admin: createClient(
      async () => (await import('../../gen/baremetal/admin/v1/admin_service_pb.ts')).AdminService,
      settings,
    ),
    fleet: createClient(
      async () => (await import('../../gen/baremetal/fleet/v1/fleet_service_pb.ts')).FleetService,
      settings,
    ),
    rollouts: createClient(
      async () => (await import('../../gen/baremetal/fleet/v1/rollout_service_pb.ts')).RolloutService,
      settings,
    ),
    hardware: createClient(
      async () => (await import('../../gen/baremetal/fleet/v1/hardware_service_pb.ts')).HardwareService,
      settings,
    ),
    consoles: createClient(
      async () => (await import('../../gen/baremetal/fleet/v1/console_service_pb.ts')).ConsoleService,
      settings,
    ),
    bmc: createClient(
      async () => (await import('../../gen/baremetal/fleet/v1/bmc_service_pb.ts')).BmcService,
      settings,
    ),
    views: createClient(
      async () => (await import('../../gen/baremetal/fleet/v1/view_service_pb.ts')).ViewService,
      settings,
    ),
    close: () => channel.close(),
  };
}
