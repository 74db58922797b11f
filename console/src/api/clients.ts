/** Clients of the public API: Connect on the page's own origin, with the token of this tab. */
import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AdminService } from '../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { PlanService } from '../../../src/gen/baremetal/v1/plan_service_pb.ts';
import { MachineService } from '../../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../../src/gen/baremetal/v2/operation_service_pb.ts';
import { endSessionOf, sessionToken } from '../session.ts';

const withToken: Interceptor = (next) => async (request) => {
  const token = sessionToken();
  // The sign-in page sets its own header to check a token that is not in the session yet.
  const usesSession = !request.header.has('authorization');
  if (usesSession && token !== null) request.header.set('authorization', `Bearer ${token}`);
  try {
    return await next(request);
  } catch (error) {
    const isRejected = ConnectError.from(error).code === Code.Unauthenticated;
    if (isRejected && usesSession) endSessionOf(token);
    throw error;
  }
};

const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [withToken],
});

export const machines = createClient(MachineService, transport);
export const operations = createClient(OperationService, transport);
export const fleet = createClient(FleetService, transport);
export const admin = createClient(AdminService, transport);
export const plans = createClient(PlanService, transport);
