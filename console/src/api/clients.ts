/** Clients of the public API: Connect on the page's own origin, with the session's cookie. */
import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AdminService } from '../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { ConsoleService } from '../../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { FleetService } from '../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { RolloutService } from '../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { ViewService } from '../../../src/gen/baremetal/fleet/v1/view_service_pb.ts';
import { PlanService } from '../../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../../src/gen/baremetal/v2/operation_service_pb.ts';
import { unattendedHeaders } from '../activity.ts';
import { endSession, sessionNumber } from '../session.ts';

const inSession: Interceptor = (next) => async (request) => {
  const session = sessionNumber();
  for (const [name, value] of Object.entries(unattendedHeaders())) request.header.set(name, value);
  try {
    return await next(request);
  } catch (error) {
    if (ConnectError.from(error).code === Code.Unauthenticated) endSession(session);
    throw error;
  }
};

/** For clients of services that only one page uses. */
export const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [inSession],
});

export const machines = createClient(MachineService, transport);
export const operations = createClient(OperationService, transport);
export const fleet = createClient(FleetService, transport);
export const admin = createClient(AdminService, transport);
export const plans = createClient(PlanService, transport);
export const runs = createClient(RunService, transport);
export const views = createClient(ViewService, transport);
export const consoles = createClient(ConsoleService, transport);
export const rollouts = createClient(RolloutService, transport);
