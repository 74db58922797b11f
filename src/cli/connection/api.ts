import { Client as Channel } from '@grpc/grpc-js';
import { AdminService } from '../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { RolloutService } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { MachineService as V1MachineService } from '../../gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../gen/baremetal/v2/operation_service_pb.ts';
import { type ClientTls, channelSecurity } from './client-tls.ts';
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
): Api {
  const address = addressText(server);
  const { security, options } = channelSecurity(server, tls);
  const channel = new Channel(address, security, { ...CHANNEL_OPTIONS, ...options });
  const settings = { channel, token };
  return {
    address,
    tokenOrigin: origin,
    machines: createClient(MachineService, settings),
    operations: createClient(OperationService, settings),
    v1Machines: createClient(V1MachineService, settings),
    plans: createClient(PlanService, settings),
    runs: createClient(RunService, settings),
    admin: createClient(AdminService, settings),
    fleet: createClient(FleetService, settings),
    rollouts: createClient(RolloutService, settings),
    close: () => channel.close(),
  };
}
