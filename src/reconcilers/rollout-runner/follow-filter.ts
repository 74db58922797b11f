/** Adds machines that have come to match the filter of a rollout, and that can take its first step. */
import { parseScope } from '../../domain/access/scope.ts';
import { checkFilter } from '../../domain/filter/check.ts';
import { MACHINE_FILTER } from '../../domain/filter/machine-filter.ts';
import { parseFilter } from '../../domain/filter/parse.ts';
import { groupsOfMachine } from '../../domain/rollout/machine-groups.ts';
import type { RolloutSpec } from '../../domain/rollout/spec/rollout-spec.ts';
import { eligibilityOf } from '../../operations/rollouts/eligibility.ts';
import type { RolloutDependencies } from '../../operations/rollouts/rollout-dependencies.ts';
import { addMachines, lastWaveOf, newMatches } from '../../store/rollouts/follow-machines.ts';

export interface FollowCall {
  readonly rolloutId: string;
  readonly owner: string;
  readonly spec: RolloutSpec;
  /** As the rollout has it. */
  readonly scope: string;
  readonly after: string;
}

const PAGE = 500;

/** Returns where the next call goes on. */
export async function followFilter(dependencies: RolloutDependencies, call: FollowCall): Promise<string> {
  const { database, approvalRules } = dependencies;
  const { rolloutId, spec, after } = call;
  const scope = parseScope(call.scope);
  const filter = spec.filter.trim() === '' ? null : checkFilter(parseFilter(spec.filter), MACHINE_FILTER);
  const machines = await newMatches(database, { rolloutId, filter, scope, after, limit: PAGE });
  if (machines.length === 0) return '';
  const wave = await lastWaveOf(database, rolloutId);
  const found = await eligibilityOf(dependencies, { steps: spec.steps, machines, scope });
  const added = machines.flatMap((machine, index) => {
    const { refusal, decided } = found[index] ?? { refusal: null, decided: [] };
    // A machine that asks for an approval joins only a wave that someone approves for that reason.
    const isGated = decided.some((step) =>
      approvalRules.some(({ applies }) => applies({ machine, ...step })),
    );
    if (refusal !== null || (isGated && wave.approvalRule === '')) return [];
    const { machineId } = machine;
    const groups = groupsOfMachine(spec.limits, machine);
    return [{ machineId, wave: wave.number, errorCode: '', message: '', groups, params: {} }];
  });
  if (added.length > 0) await database.transaction((session) => addMachines(session, call, added));
  return machines.length < PAGE ? '' : (machines.at(-1)?.machineId ?? '');
}
