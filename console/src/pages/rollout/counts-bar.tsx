import { toneOf } from '../../../../src/domain/tone.ts';
import type { MachineCounts } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { countOf } from '../../rollout-view.ts';

/** The machines of each state as a share of the bar; the text beside it has the numbers. */
export function CountsBar({ counts }: { counts: MachineCounts | undefined }) {
  const total = counts?.total ?? 0;
  return (
    <div className="ro-bar" aria-hidden="true">
      {(['succeeded', 'running', 'failed', 'canceled', 'skipped', 'ineligible'] as const).map((state) => {
        const count = countOf(counts, state);
        return (
          count > 0 && (
            <div
              key={state}
              className={`ro-bar-${state} tone-${toneOf('rollout_machine', state)}`}
              style={{ width: `${(100 * count) / total}%` }}
            />
          )
        );
      })}
    </div>
  );
}
