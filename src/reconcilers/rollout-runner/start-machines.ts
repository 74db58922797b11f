/** Starts the operations that a pass decided on, as the creator of the rollout, behind the fence of its epoch. */
import { parseScope } from '../../domain/access/scope.ts';
import { limitsOfRollout } from '../../domain/budget/limit.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { StartOrder } from '../../domain/rollout/decide/pass-view.ts';
import type { RolloutStep } from '../../domain/rollout/spec/rollout-spec.ts';
import type { RolloutDependencies } from '../../operations/rollouts/rollout-dependencies.ts';
import { rulesOfStep } from '../../operations/rollouts/step-rules.ts';
import { startOnMachine } from '../../operations/start/start-on-machine.ts';
import type { LockedRollout } from '../../store/rollouts/read-pass.ts';
import { type RefusedStart, recordRefusals } from '../../store/rollouts/record-refusals.ts';
import { StartFenced } from '../../store/rollouts/rollout-start.ts';
import { paramsOfMachines } from '../../store/rollouts/running-operations.ts';

/** A machine that is occupied is not a failure: it is tried again. */
const OCCUPIED: readonly string[] = ['OPERATION_ACTIVE', 'BUDGET_EXCEEDED'];

const LEAST_PUT_OFF_MS = 1_000;
const MOST_PUT_OFF_MS = 30_000;
/** The more machines wait, the less often each is tried. */
const PUT_OFF_MS_FOR_EACH = 20;

export async function startMachines(
  dependencies: RolloutDependencies,
  { row, view, actor }: LockedRollout,
  orders: readonly StartOrder[],
): Promise<void> {
  if (orders.length === 0) return;
  const { rollout_id: rolloutId, epoch } = row;
  const scope = parseScope(row.scope);
  const params = await paramsOf(dependencies, row, orders);
  const { reason } = view.spec;
  const limits = limitsOfRollout(rolloutId, view.spec.limits);
  const overrideBudget = view.spec.overrideBudget ? { reason } : null;
  // A machine that a rule names only since its wave was approved, or planned, waits for an approval of its own.
  const approvals = new Map(view.waves.map(({ number, approvedAs }) => [number, approvedAs]));
  const results = await Promise.allSettled(
    orders.map((order) => {
      const { machineId, wave, step, attempt, from } = order;
      const rules = rulesOfStep(stepFor(view.spec.steps[step], params.get(machineId)), {
        stepDefaults: dependencies.stepDefaults,
        scope,
      });
      if (rules === null) throw new Error(`step ${step} of ${rolloutId} starts nothing`);
      const requestId = `${rolloutId}.${step + 1}.${attempt}`;
      const rollout = { rolloutId, epoch, step, attempt, from };
      const approvedAs = approvals.get(wave) ?? null;
      const call = {
        machineId,
        requestId,
        actor,
        scope,
        rollout,
        approvedAs,
        limits,
        reason,
        overrideBudget,
      };
      return startOnMachine(dependencies, call, rules);
    }),
  );
  const refused = refusedStarts(orders, results);
  if (refused.length === 0) return;
  const isOccupied = ({ errorCode }: RefusedStart) => OCCUPIED.includes(errorCode);
  const putOff = refused.filter(isOccupied);
  const refusals = {
    rolloutId,
    epoch,
    putOff,
    failed: refused.filter((machine) => !isOccupied(machine)),
    putOffMs: Math.min(MOST_PUT_OFF_MS, LEAST_PUT_OFF_MS + putOff.length * PUT_OFF_MS_FOR_EACH),
  };
  await dependencies.database.transaction((session) => recordRefusals(session, refusals));
}

/** Only a rollback gives machines parameters of their own. */
async function paramsOf(
  { database }: RolloutDependencies,
  { rollout_id: rolloutId, rolls_back: rollsBack }: LockedRollout['row'],
  orders: readonly StartOrder[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  if (rollsBack === '') return new Map();
  return paramsOfMachines(
    database,
    rolloutId,
    orders.map(({ machineId }) => machineId),
  );
}

function stepFor(
  step: RolloutStep | undefined,
  params: Readonly<Record<string, string>> | undefined,
): RolloutStep {
  if (step === undefined) throw new Error('a machine is at a step that its rollout does not have');
  const image = params?.image_ref;
  return step.verb === 'reimage' && image !== undefined ? { ...step, imageRef: image } : step;
}

/** What is neither a refusal nor the fence is thrown: then nothing is known, and the next pass finds out. */
function refusedStarts(
  orders: readonly StartOrder[],
  results: readonly PromiseSettledResult<unknown>[],
): RefusedStart[] {
  const refused: RefusedStart[] = [];
  for (const [index, result] of results.entries()) {
    const order = orders[index];
    if (result.status === 'fulfilled' || order === undefined) continue;
    const { reason: error } = result;
    if (error instanceof StartFenced) continue;
    if (!(error instanceof Fault)) throw error;
    const { machineId, wave, step, from } = order;
    refused.push({ machineId, wave, step, from, errorCode: error.reason, message: error.message });
  }
  return refused;
}
