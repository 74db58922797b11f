/** The public API, as a browser calls it: Connect over the page's own origin, with the token of this tab. */
import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AdminService } from '../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { PlanService } from '../../../src/gen/baremetal/v1/plan_service_pb.ts';
import { MachineService } from '../../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../../src/gen/baremetal/v2/operation_service_pb.ts';
import { signOut, tokenOfSession } from '../session.ts';

const withToken: Interceptor = (next) => async (request) => {
  const token = tokenOfSession();
  // A call that says itself who it is asks whether that is true; see signing in.
  const isOwn = !request.header.has('authorization');
  if (isOwn && token !== null) request.header.set('authorization', `Bearer ${token}`);
  try {
    return await next(request);
  } catch (error) {
    const refused = ConnectError.from(error).code === Code.Unauthenticated;
    if (refused && isOwn && token === tokenOfSession())
      signOut('Your token is not known any more: it was revoked or has expired. Sign in with another.');
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
