/** Every method that a role of the configuration may list: of the gRPC services, and the REST routes that are for operators. */
import type { DescService } from '@bufbuild/protobuf';
import type { Role } from '../../domain/actor.ts';
import { AdminService } from '../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { BmcService } from '../../gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { ConsoleService } from '../../gen/baremetal/fleet/v1/console_service_pb.ts';
import { FleetService } from '../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { HardwareService } from '../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { RolloutService } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { ViewService } from '../../gen/baremetal/fleet/v1/view_service_pb.ts';
import { MachineService as MachineServiceV1 } from '../../gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../gen/baremetal/v2/operation_service_pb.ts';
import { REST_API } from '../rest/api/rest-api.ts';
import type { RestRoute, RouteCaller } from '../rest/api/route.ts';

/** Every service of the server. */
export const SERVICES: readonly DescService[] = [
  MachineServiceV1,
  PlanService,
  RunService,
  MachineService,
  OperationService,
  AdminService,
  FleetService,
  RolloutService,
  ViewService,
  HardwareService,
  ConsoleService,
  BmcService,
];

/** The built-in role that operators need for a route. Null: its callers are machines, agents or anyone, and have no role. */
const ROLE_FOR = {
  anyone: null,
  agent: null,
  'agent or operator': 'viewer',
  'any operator': 'viewer',
  boot: null,
  'boot or viewer': 'viewer',
  machine: null,
  viewer: 'viewer',
  operator: 'operator',
  admin: 'admin',
} as const satisfies Record<RouteCaller, Role | null>;

export interface OperatorRoute {
  readonly name: string;
  readonly needed: Role;
}

export function routeName({ method, path }: Pick<RestRoute, 'method' | 'path'>): string {
  return `${method} ${path}`;
}

/** The REST routes that operators call. */
export function operatorRoutes(): OperatorRoute[] {
  const routes = Object.values(REST_API).flatMap(({ routes }) => Object.values<RestRoute>(routes));
  return routes.flatMap((route) => {
    const needed = ROLE_FOR[route.caller];
    return needed === null ? [] : [{ name: routeName(route), needed }];
  });
}

/** By service and local name: every call asks for its own several times. */
const methodNames = new Map<DescService, Map<string, string>>(
  SERVICES.map((service) => [
    service,
    new Map(service.methods.map(({ localName, name }) => [localName, `${service.typeName}/${name}`])),
  ]),
);

/** A method as roles and refusals name it. */
export function methodName(service: DescService, localName: string): string {
  const known = methodNames.get(service)?.get(localName);
  return known ?? `${service.typeName}/${service.method[localName]?.name ?? localName}`;
}

export function knownMethods(): string[] {
  const calls = SERVICES.flatMap((service) =>
    service.methods.map(({ localName }) => methodName(service, localName)),
  );
  return [...calls, ...operatorRoutes().map(({ name }) => name)];
}
