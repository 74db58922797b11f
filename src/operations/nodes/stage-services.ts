/** What workflows use of the control plane: tokens for agents, keepalives, and the site's hooks. */

import { type AddressRule, allowedAgent } from '../../connections/address-rules.ts';
import { CredentialProblem } from '../../connections/credential-reference.ts';
import { exchange, NoAnswer } from '../../connections/http-exchange.ts';
import { connectionProblem, notReachable } from '../../domain/error/connection-words.ts';
import type { Outage } from '../../engine/outage.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import type { NodeServices } from '../../steps/control-plane.ts';
import { readAgents } from '../../store/agents/agents.ts';
import { forgetAgent } from '../../store/agents/forget-agent.ts';
import type { KeepaliveStore } from '../../store/agents/keepalive-store.ts';
import type { Database } from '../../store/database/database.ts';
import { writeHostKey } from '../../store/nodes/host-keys.ts';
import { type AgentMachineDependencies, createAgentMachine } from '../agents/agent-machines.ts';

export interface SiteHook {
  readonly url: string;
  /** Read for every call; null: none. */
  readonly token: () => string | null;
  readonly rule: AddressRule;
}

export interface StageServiceDependencies extends AgentMachineDependencies {
  readonly database: Database;
  readonly keepalives: KeepaliveStore;
  readonly serverUrl: () => string;
  readonly hooks: ReadonlyMap<string, SiteHook>;
  readonly tokensChanged: () => void;
}

const HOOK_LIMIT_MS = 30_000;
/** Its status is what counts. */
const MAX_HOOK_ANSWER_BYTES = 1024 * 1024;

export function createNodeServices(dependencies: StageServiceDependencies): NodeServices {
  return {
    serverUrl: dependencies.serverUrl,

    async issueAgentToken(call, pool) {
      const { machineId } = call.machine;
      const actor = { kind: 'system', id: 'onboarding' } as const;
      const { secret } = await createAgentMachine(dependencies, {
        machineId,
        pool,
        provider: '',
        actor,
        scope: null,
        now: new Date(),
      });
      dependencies.tokensChanged();
      return { token: secret };
    },

    async rememberHostKey(call, publicKey) {
      await writeHostKey(dependencies.database, call.machine.machineId, publicKey);
    },

    async forgetSecrets(call) {
      await forgetAgent(dependencies.database, dependencies.keepalives, call.machine.machineId);
      dependencies.tokensChanged();
    },

    async workloads(call) {
      const { machineId } = call.machine;
      const agent = (await readAgents(dependencies.database, dependencies.keepalives, [machineId])).get(
        machineId,
      );
      const { worker_count: workers, container_count: containers } = agent?.vitals.metrics ?? {};
      if (workers === undefined && containers === undefined) return null;
      return { workers: workers ?? 0, containers: containers ?? 0 };
    },

    async hook(call, stage) {
      const hook = dependencies.hooks.get(stage);
      return hook ? callHook(hook, call, stage) : 'not_configured';
    },
  };
}

/** 200 is done, 202 is in progress; the key lets the site recognise a repeated request. */
async function callHook(hook: SiteHook, call: ProviderCall, stage: string): Promise<'done' | 'under_way'> {
  const token = readToken(hook);
  const body = JSON.stringify({ stage, machine_id: call.machine.machineId, key: call.key });
  const url = new URL(hook.url);
  // A redirect is not followed: it would take the token elsewhere.
  const answer = await exchange({
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body,
    agent: allowedAgent(url, hook.rule, { keepAlive: false }),
    limitMs: HOOK_LIMIT_MS,
    maxAnswerBytes: MAX_HOOK_ANSWER_BYTES,
    signal: call.signal,
    beforeSending: () => {},
  }).catch((error: unknown) => {
    if (!(error instanceof NoAnswer)) throw error;
    throw hookFailed('retryable', stage, hookProblem(error), hookOutage(stage));
  });
  if (answer.status === 202) return 'under_way';
  if (answer.status >= 200 && answer.status < 300) return 'done';
  const isTheirs = answer.status >= 500 || answer.status === 429;
  const outage = AWAY.includes(answer.status) ? hookOutage(stage) : null;
  throw hookFailed(isTheirs ? 'retryable' : 'needs_human', stage, `answered ${answer.status}`, outage);
}

function hookProblem({ reason, code }: NoAnswer): string {
  switch (reason) {
    case 'late':
      return 'does not answer in time';
    case 'unreachable':
      return `is ${notReachable(connectionProblem(code)[1])}`;
    case 'broken':
      return 'broke off its answer';
    case 'too_large':
      return 'gave an answer that is too large';
    case 'certificate':
      return `has a certificate that no authority we trust has signed: ${code}`;
  }
}

function readToken(hook: SiteHook): string | null {
  try {
    return hook.token();
  } catch (error) {
    if (!(error instanceof CredentialProblem)) throw error;
    throw new StepFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message: error.message });
  }
}

/** Statuses that mean that the service is unavailable. */
const AWAY: readonly number[] = [429, 502, 503, 504];

function hookOutage(stage: string): Outage {
  return { upstream: "the site's hook", name: stage, effect: 'unknown' };
}

function hookFailed(
  failureClass: 'retryable' | 'needs_human',
  stage: string,
  what: string,
  outage: Outage | null,
): StepFailure {
  const message = `the site's hook for ${stage} ${what}`;
  return new StepFailure({ class: failureClass, code: 'HOOK_FAILED', message }, outage);
}
