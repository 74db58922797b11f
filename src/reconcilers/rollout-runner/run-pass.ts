/** One pass over one rollout: read, decide and write in one transaction; then start and cancel operations. */
import { checkFilter } from '../../domain/filter/check.ts';
import { MACHINE_FILTER } from '../../domain/filter/machine-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { decidePass } from '../../domain/rollout/decide/decide-pass.ts';
import type { PassDecision, PassView } from '../../domain/rollout/decide/pass-view.ts';
import { isEnded } from '../../domain/rollout/rollout-state.ts';
import { type CancelDependencies, cancelOperation } from '../../operations/act/cancel-operation.ts';
import { type FindingsDependencies, readFindings } from '../../operations/rollouts/read-findings.ts';
import type { RolloutDependencies } from '../../operations/rollouts/rollout-dependencies.ts';
import { type LockedRollout, lockPass, readOpen } from '../../store/rollouts/read-pass.ts';
import { ROLLOUTS } from '../../store/rollouts/rollout-event.ts';
import { operationsToCancel } from '../../store/rollouts/running-operations.ts';
import { writePass } from '../../store/rollouts/write-pass.ts';
import { followFilter } from './follow-filter.ts';
import { startMachines } from './start-machines.ts';

export type RunnerDependencies = RolloutDependencies & CancelDependencies & FindingsDependencies;

export interface PassCall {
  readonly rolloutId: string;
  readonly owner: string;
  /** What is not worth asking for in every pass, from time to time. */
  readonly slowChecks: SlowChecks | null;
}

/** Where they go on; the pass writes it. */
export interface SlowChecks {
  followAfter: string;
}

/** `gone`: it has ended, or another replica holds it. Otherwise when the next pass is due; null: when something happens. */
export type PassOutcome = 'gone' | { readonly nextInMs: number | null };

const OBSERVE_MS = 1_000;
const CANCEL_BATCH = 200;

export async function runPass(dependencies: RunnerDependencies, call: PassCall): Promise<PassOutcome> {
  const { database } = dependencies;
  const findings = call.slowChecks === null ? null : await slowChecks(dependencies, call, call.slowChecks);
  const recovery = call.slowChecks === null ? 'skip' : 'read';
  const passed = await database.transaction(async (session) => {
    const locked = await lockPass(session, { ...call, filterOf: machineFilter, findings, recovery });
    if (locked === null) return null;
    const decision = decidePass(locked.view);
    return { locked, decision, written: await writePass(session, locked, decision) };
  });
  if (passed === null) return 'gone';
  const { locked, decision, written } = passed;
  await startMachines(dependencies, locked, decision.starts);
  const canceled = await cancelRunning(dependencies, locked, decision);
  if (isEnded(decision.state)) return 'gone';
  const isBusy = written === 'changed' || decision.starts.length > 0 || canceled > 0;
  return { nextInMs: isBusy ? 0 : waitOf(locked.view, decision) };
}

async function slowChecks(
  dependencies: RunnerDependencies,
  { rolloutId, owner }: PassCall,
  checks: SlowChecks,
): Promise<PassView['findings']> {
  const rollout = await readOpen(dependencies.database, rolloutId);
  if (rollout === null) return null;
  const { spec, scope, state } = rollout;
  if (spec.follow && state !== 'aborting') {
    const call = { rolloutId, owner, spec, scope, after: checks.followAfter };
    checks.followAfter = await followFilter(dependencies, call);
  }
  return readFindings(dependencies, rolloutId, spec.stop);
}

function machineFilter(text: string) {
  return checkFilter(parseFilter(text), MACHINE_FILTER);
}

function waitOf({ now, observed, putOff }: PassView, { dueAt }: PassDecision): number | null {
  const waits = [
    ...(dueAt === null ? [] : [dueAt.getTime() - now.getTime()]),
    ...(observed.length > 0 || putOff !== '' ? [OBSERVE_MS] : []),
  ];
  return waits.length === 0 ? null : Math.max(0, Math.min(...waits));
}

/** After an abort, or a stop rule, that asks for it. */
async function cancelRunning(
  dependencies: RunnerDependencies,
  { row, view }: LockedRollout,
  { state }: PassDecision,
): Promise<number> {
  const isAsked = row.cancel_running || (state === 'stopped' && view.spec.stop.cancelRunning);
  if (!isAsked || (state !== 'aborting' && state !== 'stopped')) return 0;
  const ids = await operationsToCancel(dependencies.database, row.rollout_id, CANCEL_BATCH);
  const reason = `${row.rollout_id} is ${state === 'stopped' ? 'stopped' : 'aborted'}`;
  for (const operationId of ids)
    await cancelOperation(dependencies, { operationId, reason, actor: ROLLOUTS, scope: null });
  return ids.length;
}
