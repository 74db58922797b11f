/** Changes how fast a rollout goes, and what stops it, while it is under way. Only what was changed is sent. */
import { fromJson } from '@bufbuild/protobuf';
import { useState } from 'react';
import {
  GroupLimitSchema,
  type Rollout,
  StopRulesSchema,
} from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { rollouts } from '../../api/clients.ts';
import { newRequestId } from '../../api/request-id.ts';
import { titleOf } from '../../rollout-view.ts';
import '../../styles/rollout-draft.css';
import { nextKey, type Pace, paceFault } from '../rollout-draft/draft.ts';
import { amount, limitJson, stopJson } from '../rollout-draft/draft-spec.ts';
import { LimitFields, SpeedFields, StopFields } from '../rollout-draft/pace-fields.tsx';
import { type ActionDialogProps, RolloutDialog } from './action-dialog.tsx';

export function LimitsDialog({ rollout, onDone, onClose }: ActionDialogProps) {
  const [requestId] = useState(newRequestId);
  const [before] = useState(() => paceOf(rollout));
  const [pace, setPace] = useState(before);
  const { rolloutId } = rollout;
  const change = changeOf(before, pace, rollout);
  return (
    <RolloutDialog
      rollout={rollout}
      verb="Change limits"
      title={`Change limits of ${titleOf(rollout)}`}
      kind="primary"
      reason="optional"
      words={['limits', rolloutId, ...wordsOf(before, pace)]}
      missing={paceFault(pace) || (Object.keys(change).length === 0 ? 'Change something first.' : '')}
      act={(reason) => rollouts.updateLimits({ rolloutId, requestId, reason, ...change })}
      onDone={onDone}
      onClose={onClose}
    >
      <p className="soft">What is under way is not undone where a limit becomes tighter.</p>
      <SpeedFields pace={pace} onPace={setPace} />
      <StopFields pace={pace} onPace={setPace} />
      <LimitFields pace={pace} onPace={setPace} />
    </RolloutDialog>
  );
}

function paceOf({ spec }: Rollout): Pace {
  const stop = spec?.stop;
  const text = (count: number | undefined) => (count ? String(count) : '');
  return {
    maxParallel: spec?.maxParallel ?? '',
    soak: spec?.soak ?? '',
    limits: (spec?.limits ?? []).map(({ groupBy, filter, maxUnavailable }) => ({
      key: nextKey(),
      groupBy,
      filter,
      maxUnavailable,
    })),
    stop: {
      afterFailures: text(stop?.afterFailures),
      failurePercent: text(stop?.failurePercent),
      sameError: text(stop?.sameError),
      unhealthy: stop?.unhealthy ?? '',
      poolDegraded: stop?.poolDegraded ?? false,
      cancelRunning: stop?.cancelRunning ?? false,
    },
  };
}

function changeOf(before: Pace, after: Pace, { spec }: Rollout) {
  return {
    ...(after.maxParallel !== before.maxParallel && { maxParallel: amount(after.maxParallel) }),
    ...(after.soak !== before.soak && { soak: after.soak.trim() }),
    ...(after.limits !== before.limits && {
      limits: { limits: after.limits.map((limit) => fromJson(GroupLimitSchema, limitJson(limit))) },
    }),
    // The rules of metrics are not in the dialog, and stay.
    ...(after.stop !== before.stop && {
      stop: { ...fromJson(StopRulesSchema, stopJson(after.stop)), metrics: spec?.stop?.metrics ?? [] },
    }),
  };
}

/** The options of the command that changes the same. */
function wordsOf(before: Pace, after: Pace): string[] {
  const options: readonly (readonly [option: string, before: string, after: string])[] = [
    ['--max-parallel', before.maxParallel, after.maxParallel],
    ['--soak', before.soak, after.soak],
    ['--stop-after-failures', before.stop.afterFailures, after.stop.afterFailures],
    ['--stop-failure-percent', before.stop.failurePercent, after.stop.failurePercent],
    ['--stop-same-error', before.stop.sameError, after.stop.sameError],
    ['--stop-unhealthy', before.stop.unhealthy, after.stop.unhealthy],
  ];
  const changed = options.flatMap(([option, was, is]) => (was === is ? [] : [option, is.trim()]));
  const limits =
    before.limits === after.limits
      ? []
      : after.limits.flatMap(({ groupBy, maxUnavailable }) => [
          '--max-unavailable',
          `${groupBy}=${maxUnavailable}`,
        ]);
  return [...changed, ...limits];
}
