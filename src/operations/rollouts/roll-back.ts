/** The same machines with the image that each had before, as a new rollout. */
import type { Rollout } from '../../domain/rollout/rollout.ts';
import {
  nothingToRollBack,
  rolloutNotFound,
  wrongRolloutState,
} from '../../domain/rollout/rollout-faults.ts';
import type { RolloutSpec, RolloutStep } from '../../domain/rollout/spec/rollout-spec.ts';
import { reimagedMachines } from '../../store/rollouts/earlier-images.ts';
import { findRollout } from '../../store/rollouts/find-rollouts.ts';
import { findByRequest } from '../../store/rollouts/insert-rollout.ts';
import { isRepeated, recordRolloutAction } from '../../store/rollouts/record-rollout-action.ts';
import type { ActOnRolloutCall } from './act-on-rollout.ts';
import { createRollout, rollbackFingerprint, storedRollout } from './create-rollout.ts';
import type { RolloutDependencies } from './rollout-dependencies.ts';

/** Steps that can be carried out again around the earlier image. */
const REPEATABLE: readonly RolloutStep['verb'][] = [
  'enter-maintenance',
  'reimage',
  'verify',
  'reboot',
  'exit-maintenance',
];

/** Answers the new rollout, which gives each machine the image that it had before. The same request again answers the same. */
export async function rollBack(
  dependencies: RolloutDependencies,
  { rolloutId, requestId, reason, caller }: Omit<ActOnRolloutCall, 'action'>,
): Promise<Rollout> {
  const { database } = dependencies;
  const { actor, scope } = caller;
  const before = await findRollout(database, rolloutId, scope);
  if (before === null) throw rolloutNotFound(rolloutId);
  const call = { rolloutId, actor, scope, requestId, reason, fingerprint: 'roll-back' } as const;
  // Before anything is created: the id may be that of another action.
  await isRepeated(database, call);
  const fingerprint = rollbackFingerprint({ rollsBack: rolloutId, reason });
  const known = requestId === '' ? null : await findByRequest(database, { actor, requestId, fingerprint });
  const rollout =
    known === null
      ? await createRollback(dependencies, before, { requestId, reason, caller })
      : await storedRollout(dependencies, known);
  await recordRolloutAction(database, { ...call, action: 'roll-back' }, async () => ({
    detail: `as ${rollout.rolloutId}`,
  }));
  return rollout;
}

async function createRollback(
  dependencies: RolloutDependencies,
  before: Rollout,
  { requestId, reason, caller }: Pick<ActOnRolloutCall, 'requestId' | 'reason' | 'caller'>,
): Promise<Rollout> {
  const { rolloutId } = before;
  checkCanGoBack(before);
  const machines = await reimagedMachines(dependencies.database, rolloutId);
  const known = new Map(machines.map(({ machineId, imageBefore }) => [machineId, imageBefore]));
  const back = machines.filter(({ imageBefore }) => imageBefore !== '').map(({ machineId }) => machineId);
  if (back.length === 0)
    throw nothingToRollBack(
      rolloutId,
      machines.length === 0 ? 'it has reimaged no machine' : 'no earlier image of its machines is known',
    );
  const unknown = machines.filter(({ imageBefore }) => imageBefore === '');
  return createRollout(
    dependencies,
    { spec: specOf(before, { machineIds: back, image: commonImage(known), reason }), requestId, caller },
    {
      rollsBack: rolloutId,
      reason,
      paramsOf: (machineId) => ({ image_ref: known.get(machineId) ?? '' }),
      refused: new Map(unknown.map(({ machineId }) => [machineId, 'no earlier image of it is known'])),
    },
  );
}

function checkCanGoBack({ rolloutId, state, spec }: Rollout): void {
  const fixed = spec.steps.find(({ verb }) => !REPEATABLE.includes(verb));
  if (fixed) throw nothingToRollBack(rolloutId, `${fixed.verb} has nothing that was there before`);
  if (!spec.steps.some(({ verb }) => verb === 'reimage'))
    throw nothingToRollBack(rolloutId, 'only a reimage has something to go back to');
  if (state === 'running' || state === 'scheduled' || state === 'aborting')
    throw wrongRolloutState(rolloutId, state, 'pause or abort it before it is rolled back');
}

interface Back {
  readonly machineIds: readonly string[];
  readonly image: string;
  readonly reason: string;
}

/** What the spec shows: the image that all had before, or none where they differ. Each machine has its own in any case. */
function commonImage(images: ReadonlyMap<string, string>): string {
  const known = new Set([...images.values()].filter((image) => image !== ''));
  const [image = ''] = known;
  return known.size === 1 ? image : '';
}

/** It starts at once, whatever the windows of the other one are: what went wrong goes wrong now. */
function specOf({ spec, rolloutId }: Rollout, { machineIds, image, reason }: Back): RolloutSpec {
  return {
    ...spec,
    steps: spec.steps.map((step) => (step.verb === 'reimage' ? { ...step, imageRef: image } : step)),
    name: `roll back ${spec.name === '' ? rolloutId : spec.name}`.slice(0, 100),
    filter: '',
    machineIds,
    follow: false,
    windows: [],
    blackouts: [],
    startAt: null,
    deadline: null,
    reason: reason === '' ? spec.reason : reason,
  };
}
