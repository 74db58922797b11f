/** What a row of the table of failures promises, carried out: fail, remove the cause, take the advice, succeed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { FAILURES, type FailureCode } from '../../src/domain/error/failure-code.ts';
import type { FailureAdvice } from '../../src/domain/error/failures/advice.ts';
import type { OperatorAction } from '../../src/domain/operation/operator-action.ts';
import { OperatorAction_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import { phaseOf } from '../api/fleet.ts';
import { newPlan, startRun, v1Of } from '../api-v1/runs.ts';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

/** An operation that is about to fail, and what removes the cause of that. */
export interface Failing {
  readonly machineId: string;
  readonly operationId: string;
  readonly fix: () => Promise<unknown>;
  /** It waits for what does not answer, and continues without an action. */
  readonly goesOn?: true;
}

/** Starts an operation that fails with the code of its row. */
export type Scenario<Site> = (site: Site) => Promise<Failing>;

export type Scenarios<Site> = Readonly<Partial<Record<FailureCode, Scenario<Site>>>>;

export const TIME_LIMIT = 120_000;

/** Asked rarely: dozens of scenarios wait at the same time, in the process of the server. */
const ASK_AGAIN_MS = 150;

export function ended(server: TestServer, operationId: string): Promise<Operation> {
  return until(
    async () => {
      await sleep(ASK_AGAIN_MS);
      return server.operations.getOperation({ operationId });
    },
    ({ finishedAt }) => finishedAt !== undefined,
    TIME_LIMIT,
  );
}

export function act(server: TestServer, operationId: string, action: string) {
  const value = OperatorAction_Value[action.toUpperCase() as keyof typeof OperatorAction_Value];
  return server.admin.actOnOperation({ operationId, action: value, reason: 'the cause is removed' });
}

/** The operation waits for an operator, who changes something outside of Ingot and lets it continue. */
export async function changedWhileHeld(
  server: TestServer,
  operationId: string,
  change: () => Promise<unknown>,
  action: OperatorAction = 'resume',
): Promise<void> {
  await act(server, operationId, 'mark_manual_intervention_required');
  await change();
  await act(server, operationId, action);
}

/** It fails for another reason first, and something is changed before it is tried again. */
export async function changedAfterFailure(
  server: TestServer,
  operationId: string,
  change: () => Promise<unknown>,
): Promise<void> {
  await ended(server, operationId);
  await change();
  await act(server, operationId, 'retry_stage');
}

export function setSpec(
  server: TestServer,
  machineId: string,
  spec: {
    readonly sshEndpoint?: string;
    readonly bmcEndpoint?: string;
    readonly bmcCertificateSha256?: string;
    readonly macAddresses?: string[];
  },
) {
  const paths = Object.keys(spec).map(
    (name) => `spec.${name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`)}`,
  );
  return server.machines.updateMachine({ machine: { machineId, spec }, updateMask: { paths } });
}

type Steps = Parameters<typeof newPlan>[1];
type Step = NonNullable<Steps>[number];

/** A step that fails at once: another attempt would only take time. */
export function step(kind: NonNullable<Step['kind']>, timeoutSeconds = 60): Step {
  return { name: 'work', timeoutSeconds, maxRetries: 0, kind };
}

/** The limit of a step that waits for what does not answer. */
export const SHORT_SECONDS = 5;

/** A run of one step. */
export async function runOf(server: TestServer, machineId: string, only: Step): Promise<string> {
  const { planId } = await newPlan(server, [only]);
  const { runId } = await startRun(v1Of(server), 'REBOOT', machineId, { planId });
  return `op-${runId.replace(/^(?:op|run)-/, '').toLowerCase()}`;
}

export function setLabels(server: TestServer, machineId: string, labels: Readonly<Record<string, string>>) {
  return server.machines.updateMachine({
    machine: { machineId, labels },
    updateMask: { paths: Object.keys(labels).map((name) => `labels.${name}`) },
  });
}

/** Reads the advice in the API, follows it, and checks that the operation succeeds. The fix may start another server. */
async function followAdvice(
  site: { readonly server: TestServer },
  code: FailureCode,
  failing: Failing,
): Promise<void> {
  const { operationId, machineId } = failing;
  const row: FailureAdvice = FAILURES[code];
  if (failing.goesOn) {
    expect(row.waitedOut).toBe(true);
    await failing.fix();
    expect(phaseOf(await ended(site.server, operationId))).toBe('SUCCEEDED');
    return;
  }
  const endsAs = row.waitedOut ? 'TIMED_OUT' : code;
  const { error } = await (row.waitedOut ? endedForCause : ended)(site.server, operationId);
  expect(error?.code, error?.message).toBe(endsAs);
  if (row.waitedOut) expect(error?.message).toMatch(/waiting for .+ to answer since/);
  const { action, whatHappened, check, who } = FAILURES[endsAs];
  const { advice } = await site.server.admin.listOperatorActions({ operationId });
  expect(advice).toMatchObject({ action, whatHappened, check, who });
  const { obstacles } = await site.server.admin.explainMachine({ machineId });
  const named = obstacles.find((obstacle) => obstacle.operationId === operationId);
  expect(named).toMatchObject({ action, who, command: advice?.command });
  await failing.fix();
  await act(site.server, operationId, advice?.action ?? '');
  const end = await endedForCause(site.server, operationId);
  expect(phaseOf(end), `${end.error?.code} ${end.error?.message}`).toBe('SUCCEEDED');
}

/** How often a host may be too slow for a step with a short limit. */
const MAX_SLOW = 8;

/** A step that names nothing that it waits for had no time to begin: this host was too slow for its limit, and it is tried again. */
async function endedForCause(server: TestServer, operationId: string): Promise<Operation> {
  let end = await ended(server, operationId);
  for (let slow = 0; slow < MAX_SLOW && hadNoTime(end); slow += 1) {
    await act(server, operationId, FAILURES.TIMED_OUT.action);
    end = await ended(server, operationId);
  }
  return end;
}

function hadNoTime({ error }: Operation): boolean {
  return error?.code === 'TIMED_OUT' && !error.message.includes('waiting for');
}

/** As many as keep a small host busy: each has its own machine, and mostly waits. */
const AT_ONCE = 8;

export function followAll<Site extends { readonly server: TestServer }>(scenarios: Scenarios<Site>) {
  const codes = Object.keys(scenarios) as FailureCode[];
  const followed = new Map<FailureCode, Promise<void>>();
  return {
    codes,
    start(site: Site): void {
      const running: Promise<unknown>[] = Array.from({ length: AT_ONCE }, () => Promise.resolve());
      for (const [index, code] of codes.entries()) {
        const following = (running[index % AT_ONCE] ?? Promise.resolve()).then(() =>
          follow(site, code, scenarios[code]),
        );
        followed.set(code, following);
        // The test that waits for it gets the error; the next one still starts.
        running[index % AT_ONCE] = following.catch(() => {});
      }
    },
    async end(code: FailureCode): Promise<void> {
      const following = followed.get(code);
      if (!following) throw new Error(`there is no scenario for ${code}`);
      await following;
    },
  };
}

export async function follow<Site extends { readonly server: TestServer }>(
  site: Site,
  code: FailureCode,
  scenario: Scenario<Site> | undefined,
): Promise<void> {
  if (!scenario) throw new Error(`there is no scenario for ${code}`);
  await followAdvice(site, code, await scenario(site));
}
