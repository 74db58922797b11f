/** Issues the token with which an agent enrols, for a new machine or for an existing one. */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../../domain/access/scope.ts';
import type { Actor } from '../../domain/actor.ts';
import { DEFAULT_AGENT_PROVIDER, type PresenceTtls } from '../../domain/agent/agent.ts';
import { isTrue } from '../../domain/condition/condition.ts';
import { Fault, invalidField, unmetPrecondition } from '../../domain/error/fault.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { Provider } from '../../providers/provider.ts';
import { type IssuedToken, issueAgentToken, type TokenIssue } from '../../store/agents/agents.ts';
import type { KeepaliveStore } from '../../store/agents/keepalive-store.ts';
import { listPools } from '../../store/agents/pools.ts';
import type { Database } from '../../store/database/database.ts';
import { findMachines } from '../../store/machines/machines.ts';
import { hashToken, newSecret } from '../../store/tokens.ts';
import { bareMachine, machineDeleted, machineEvent } from '../machines/inventory.ts';
import { machineNotFound } from '../machines/machine-not-found.ts';

export interface AgentMachineDependencies {
  readonly database: Database;
  readonly keepalives: KeepaliveStore;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly ttls: PresenceTtls;
}

export interface AgentMachineCall {
  /** Empty: a new machine. */
  readonly machineId: string;
  readonly pool: string;
  /** Empty: generic, or the provider of the existing machine. */
  readonly provider: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
  readonly now: Date;
}

export interface CreatedAgentMachine {
  readonly machine: Machine;
  /** Shown once. */
  readonly secret: string;
  readonly expiresAt: Date;
}

export async function createAgentMachine(
  dependencies: AgentMachineDependencies,
  call: AgentMachineCall,
): Promise<CreatedAgentMachine> {
  const { actor, scope } = call;
  const pool = await knownPool(dependencies, call);
  const secret = newSecret();
  const issue = {
    pool,
    tokenHash: hashToken(secret),
    pendingSeconds: dependencies.ttls.pendingSeconds,
    actor,
    scope,
  };
  const { machine, moved } =
    call.machineId === ''
      ? await createNew(dependencies, call.provider, issue)
      : await issueFor(dependencies, call, issue);
  if (moved) await dependencies.keepalives.remove([moved]);
  const entry = { machineId: machine.machineId, poolName: pool, providerName: machine.spec.provider };
  if (machine.presence === 'pending') {
    await dependencies.keepalives.put([{ ...entry, status: 'pending', facts: null, keepalive: null }]);
  }
  const expiresAt = new Date(call.now.getTime() + dependencies.ttls.pendingSeconds * 1000);
  return { machine, secret, expiresAt };
}

type Issue = Omit<TokenIssue, 'machineId' | 'newMachine'>;

/** Eight hex digits, as agents expect; a new id is drawn when one is taken. */
async function createNew(
  dependencies: AgentMachineDependencies,
  provider: string,
  issue: Issue,
): Promise<IssuedToken> {
  const chosen = provider === '' ? DEFAULT_AGENT_PROVIDER : provider;
  for (;;) {
    const machineId = randomBytes(4).toString('hex');
    const input = bareMachine(dependencies, machineId, chosen);
    const event = machineEvent(machineId, '', 'registered', issue.actor);
    const issued = await issueAgentToken(dependencies.database, {
      ...issue,
      machineId,
      newMachine: { input, event },
    });
    if (issued) return issued;
  }
}

async function issueFor(
  dependencies: AgentMachineDependencies,
  call: AgentMachineCall,
  issue: Issue,
): Promise<IssuedToken> {
  const { machineId, provider } = call;
  const [before] = await findMachines(dependencies.database, [machineId], call.scope);
  if (before?.service === 'deleted') throw machineDeleted(machineId);
  if (before && isTrue(before.conditions, 'Retired')) throw machineRetired(machineId);
  if (before && provider !== '' && provider !== before.spec.provider) {
    throw invalidField('provider', `${machineId} belongs to the provider ${before.spec.provider}`);
  }
  const issued = await issueAgentToken(dependencies.database, { ...issue, machineId, newMachine: null });
  if (!issued) throw machineNotFound(machineId);
  return issued;
}

function machineRetired(machineId: string): Fault {
  return new Fault('MACHINE_BLOCKED', {
    message: `${machineId} is flagged Retired: no agent enrols for it`,
    metadata: { machine_id: machineId, flag: 'Retired' },
    violations: [{ subject: `machines/${machineId}`, description: 'is flagged Retired' }],
  });
}

async function knownPool(
  dependencies: AgentMachineDependencies,
  { pool, scope }: AgentMachineCall,
): Promise<string> {
  if (pool === '') throw invalidField('pool', 'is required');
  const pools = (await listPools(dependencies.database, scope)).map(({ name }) => name);
  if (pools.includes(pool)) return pool;
  throw unmetPrecondition('POOL_NOT_FOUND', {
    message: `there is no pool ${JSON.stringify(pool.slice(0, 80))}; ${pools.length === 0 ? 'there is none yet: create it with `ingot pool create`' : `there are ${pools.join(', ')}`}`,
    metadata: { pool: pool.slice(0, 80) },
    violations: [{ subject: 'pool', description: 'does not exist' }],
  });
}
