/** What a rollout would do. One call tells everything, and changes nothing. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { checkDeadline } from '../../../../domain/rollout/spec/spec-input.ts';
import type { RolloutService } from '../../../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { previewRollout } from '../../../../operations/rollouts/preview-rollout.ts';
import type { ServerDependencies } from '../../server-dependencies.ts';
import type { Handlers } from '../../service.ts';
import { readSpec, specMessage } from './spec-message.ts';

export function previewHandlers(
  dependencies: ServerDependencies,
): Pick<Handlers<typeof RolloutService>, 'previewRollout'> {
  return {
    async previewRollout(request, { caller }) {
      const spec = await readSpec(request.spec);
      checkDeadline(spec.deadline, 'spec.deadline', dependencies.now());
      const preview = await previewRollout(dependencies, spec, caller);
      const { estimate, startsAt } = preview;
      return {
        // The caller knows the ids, and there may be a hundred thousand.
        spec: specMessage({ ...spec, machineIds: [] }),
        total: preview.total,
        eligible: preview.eligible,
        waves: preview.waves.map((wave) => ({ ...wave, machineIds: [...wave.machineIds] })),
        ineligible: preview.ineligible.map((group) => ({ ...group, machineIds: [...group.machineIds] })),
        limits: preview.limits.map((limit) => ({ ...limit, occupiedBy: [...limit.occupiedBy] })),
        ...(estimate && {
          estimate: {
            p50Seconds: BigInt(estimate.p50Seconds),
            p90Seconds: BigInt(estimate.p90Seconds),
            samples: estimate.samples,
            unknownSteps: [...estimate.unknownSteps],
            unknownGates: estimate.unknownGates,
          },
        }),
        ...(startsAt && { startsAt: timestampFromDate(startsAt) }),
        refusals: [...preview.refusals],
        warnings: [...preview.warnings],
      };
    },
  };
}
