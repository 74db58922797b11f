/** Who is signed in, and what the caller may call. */
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { isRole, type Role } from '../../src/domain/actor.ts';

export interface Identity {
  readonly name: string;
  /** viewer, operator, admin, or a role of the server's configuration. */
  readonly role: string;
  /** The machines that exist for the caller, as a filter; empty: the whole fleet. */
  readonly scope: string;
  /** As the server names them: `package.Service/Method`, or `METHOD /path`. */
  readonly methods: ReadonlySet<string>;
  readonly version: string;
  /** The server listens on the network without TLS. */
  readonly insecurePlaintext: boolean;
}

const IdentityContext = createContext<Identity | null>(null);

export function IdentityProvider({ identity, children }: { identity: Identity; children: ReactNode }) {
  return <IdentityContext value={identity}>{children}</IdentityContext>;
}

export function useIdentity(): Identity {
  const identity = useContext(IdentityContext);
  if (!identity) throw new Error('used outside of IdentityProvider');
  return identity;
}

/** The short names of methods that the console's buttons call. */
const ADMIN = 'baremetal.admin.v1.AdminService/';
const MACHINES = 'baremetal.v2.MachineService/';
const CONSOLES = 'baremetal.fleet.v1.ConsoleService/';
const ROLLOUTS = 'baremetal.fleet.v1.RolloutService/';
export const METHODS = {
  act: [`${ADMIN}ActOnOperation`],
  approve: [`${ADMIN}ApproveOperation`],
  reject: [`${ADMIN}RejectOperation`],
  update: [`${MACHINES}UpdateMachine`],
  start: ['RebootMachine', 'ReimageMachine', 'EnterMaintenance', 'ExitMaintenance'].map(
    (name) => MACHINES + name,
  ),
  openConsole: [`${CONSOLES}OpenConsole`],
  writeConsole: [`${CONSOLES}TakeConsole`],
  createRollout: [`${ROLLOUTS}CreateRollout`],
  changeRollout: [`${ROLLOUTS}PauseRollout`],
  decideWave: [`${ROLLOUTS}ApproveWave`],
  changeBudgets: [`${ROLLOUTS}CreateBudget`, `${ROLLOUTS}DeleteBudget`],
  register: [`${MACHINES}RegisterMachine`],
  createPools: [`${ADMIN}CreatePool`],
  createPlans: [`${ADMIN}CreatePlan`],
  startRuns: ['baremetal.v1.RunService/StartRun'],
  changeImages: ['PUT /api/v1/images/:name/content', 'DELETE /api/v1/images/:name'],
  changeWorkflows: ['POST /api/v1/workflows', 'DELETE /api/v1/workflows/:name'],
  readSessions: [`${ADMIN}ListSessions`],
  endSessions: [`${ADMIN}EndSession`],
  readTokens: [`${ADMIN}ListTokens`],
  createTokens: [`${ADMIN}CreateToken`],
  rotateTokens: [`${ADMIN}RotateToken`],
  revokeTokens: [`${ADMIN}RevokeToken`],
  shareViews: ['baremetal.fleet.v1.ViewService/ShareView'],
  approveNode: ['POST /api/v1/nodes/bulk/approve'],
  editNodes: ['PATCH /api/v1/nodes/:id'],
  readIdentities: [`${ADMIN}ListIdentities`],
  changeIdentities: [`${ADMIN}RevokeIdentity`],
  changeNodes: ['approve', 'state', 'tags', 'workflow', 'group'].map(
    (what) => `POST /api/v1/nodes/bulk/${what}`,
  ),
} as const satisfies Record<string, readonly string[]>;

/** Returns why the caller may call none of the methods, or an empty text. The server checks again. */
export function useForbidden(): (needed: Role, methods: readonly string[]) => string {
  const { name, role, methods: allowed } = useIdentity();
  return useMemo(
    () => (needed, methods) => {
      if (methods.some((method) => allowed.has(method))) return '';
      return isRole(role)
        ? `This needs the role ${needed}; ${name} has ${role}. Sign in with another role.`
        : `The role ${role} of ${name} does not allow this. Sign in with another role.`;
    },
    [name, role, allowed],
  );
}
