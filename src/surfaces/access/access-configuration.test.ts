import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { grantOf, mayCall } from '../../domain/access/caller.ts';
import { grantFields, roleProblem, rolesConfiguration } from './access-configuration.ts';

function problems(given: unknown): string[] {
  const parsed = rolesConfiguration.safeParse(given);
  return parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

const role = (...methods: string[]) => ({ 'on-call': { methods } });

describe('A role of the configuration', () => {
  it.each([
    ['the whole name', 'baremetal.v2.MachineService/GetMachine', 'baremetal.v2.MachineService/GetMachine'],
    ['a short name, in every version', 'MachineService/GetMachine', 'baremetal.v1.MachineService/GetMachine'],
    ['all of a service', 'OperationService/*', 'baremetal.v2.OperationService/WatchOperations'],
    ['a route', 'GET /api/v1/nodes/:id', 'GET /api/v1/nodes/:id'],
    ['all routes under a path', 'GET /api/v1/nodes*', 'GET /api/v1/nodes/:id/history'],
  ])('names its methods by %s', (_how, pattern, method) => {
    const roles = rolesConfiguration.parse(role(pattern));
    const grant = grantOf(roles, { role: 'on-call', scope: null });
    expect(mayCall(grant, method, 'admin')).toBe(true);
    expect(mayCall(grant, 'baremetal.admin.v1.AdminService/CreateToken', 'viewer')).toBe(false);
  });

  it.each([
    ['MachineService/GetMachin', 'MachineService/GetMachine'],
    ['baremetal.v2.MachineService/RebotMachine', 'baremetal.v2.MachineService/RebootMachine'],
    ['GET /api/v1/node', 'GET /api/v1/nodes'],
    ['*', ''],
  ])('does not start with the unknown method %s, and says which is nearest', (pattern, nearest) => {
    expect(problems(role('WhoAmI/no', pattern)).at(-1)).toContain(
      `on-call.methods.1: ${JSON.stringify(pattern)} is no method; the nearest is ${nearest}`,
    );
  });

  it.each([
    ['admin', 'built in'],
    ['On Call', 'lower-case'],
  ])('is not called %s', (name, problem) => {
    expect(problems({ [name]: { methods: ['MachineService/*'] } })[0]).toContain(problem);
  });

  it('has a method at least', () => {
    expect(problems(role())).toEqual(['on-call.methods: must name a method at least']);
  });

  it('that is configured no more may call nothing but who it is', () => {
    const grant = grantOf(new Map(), { role: 'gone', scope: null });
    expect(mayCall(grant, 'baremetal.v2.MachineService/GetMachine', 'viewer')).toBe(false);
    expect(mayCall(grant, 'baremetal.fleet.v1.FleetService/WhoAmI', 'viewer')).toBe(true);
  });
});

describe('A grant of the configuration', () => {
  const schema = z.strictObject(grantFields);

  it('is a role and a scope, which is the whole fleet without one', () => {
    expect(schema.parse({ role: 'viewer' })).toEqual({ role: 'viewer', scope: '' });
    expect(schema.parse({ role: 'viewer', scope: 'customer_id=acme' }).scope).toBe('customer_id=acme');
  });

  it('is refused where its scope is no filter, or its role is unknown', () => {
    expect(schema.safeParse({ role: 'viewer', scope: 'customer=acme' }).success).toBe(false);
    expect(roleProblem(rolesConfiguration.parse(role('PlanService/*')), 'oncall')).toBe(
      'there is no role "oncall"; there are viewer, operator, admin, on-call',
    );
  });
});
