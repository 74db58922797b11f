/** What a spec names must exist: checked once for all machines, with the field that names it. */
import type { Scope } from '../../domain/access/scope.ts';
import { type Fault, invalidField } from '../../domain/error/fault.ts';
import type { RolloutSpec, RolloutStep } from '../../domain/rollout/spec/rollout-spec.ts';
import { poolExists } from '../../store/agents/pools.ts';
import type { Database } from '../../store/database/database.ts';
import { findPlan } from '../plans/plans.ts';

/** The refusals of a spec that names what a caller with this scope can't use; images are the providers' to know. */
export async function missingReferences(
  database: Database,
  { steps }: Pick<RolloutSpec, 'steps'>,
  scope: Scope | null,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const [index, step] of steps.entries()) {
    const problem = await missingReference(database, step, scope);
    if (problem !== null)
      faults.push(invalidField(`spec.steps[${index}].${step.verb}.${problem[0]}`, problem[1]));
  }
  return faults;
}

async function missingReference(
  database: Database,
  step: RolloutStep,
  scope: Scope | null,
): Promise<readonly [field: string, problem: string] | null> {
  if (step.verb === 'plan' && (await findPlan(database, step.planId, scope)) === null)
    return ['plan_id', `there is no plan ${JSON.stringify(step.planId)}`];
  if (step.verb === 'onboard' && !(await poolExists(database, step.pool, scope)))
    return ['pool', `there is no pool ${JSON.stringify(step.pool.slice(0, 80))}`];
  return null;
}
