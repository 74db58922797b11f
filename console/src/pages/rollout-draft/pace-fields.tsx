/** How many at once, limits by group and stop rules: of a new rollout, and of one that is under way. */
import { useId } from 'react';
import { Button } from '../../ui/button.tsx';
import { amountFault, durationFault, type LimitDraft, nextKey, type Pace, type StopDraft } from './draft.ts';
import { CheckInput, TextInput } from './text-input.tsx';

export interface PaceProps<T extends Pace> {
  readonly pace: T;
  readonly onPace: (pace: T) => void;
}

/** Fields that machines can be grouped by; others are typed. */
const GROUPS = ['location.rack', 'location.row', 'location.site', 'pool', 'provider', 'customer_id'];

export function SpeedFields<T extends Pace>({ pace, onPace }: PaceProps<T>) {
  return (
    <div className="draft-pair">
      <TextInput
        title="At most at once"
        value={pace.maxParallel}
        placeholder="no limit"
        fault={amountFault(pace.maxParallel)}
        hint="Machines, or a percentage"
        onChange={(maxParallel) => onPace({ ...pace, maxParallel })}
      />
      <TextInput
        title="Soak time between waves"
        value={pace.soak}
        placeholder="none"
        fault={durationFault(pace.soak)}
        hint="Such as 30s, 5m, 2h"
        onChange={(soak) => onPace({ ...pace, soak })}
      />
    </div>
  );
}

export function LimitFields<T extends Pace>({ pace, onPace }: PaceProps<T>) {
  const { limits } = pace;
  const id = useId();
  const replace = (index: number, limit: LimitDraft) =>
    onPace({ ...pace, limits: limits.with(index, limit) });
  return (
    <>
      <datalist id={id}>
        {GROUPS.map((group) => (
          <option key={group} value={group} />
        ))}
      </datalist>
      {limits.map((limit, index) => (
        <fieldset key={limit.key} className="draft-limit">
          <legend>Limit {index + 1}</legend>
          <TextInput
            title="Unavailable at most"
            value={limit.maxUnavailable}
            placeholder="1 or 10%"
            fault={amountFault(limit.maxUnavailable)}
            onChange={(maxUnavailable) => replace(index, { ...limit, maxUnavailable })}
          />
          <TextInput
            title="In each"
            value={limit.groupBy}
            placeholder="all together"
            list={id}
            onChange={(groupBy) => replace(index, { ...limit, groupBy })}
          />
          <TextInput
            title="Among (filter)"
            value={limit.filter}
            placeholder="all machines"
            onChange={(filter) => replace(index, { ...limit, filter })}
          />
          <Button
            kind="quiet"
            label={`Remove limit ${index + 1}`}
            onClick={() => onPace({ ...pace, limits: limits.toSpliced(index, 1) })}
          >
            ×
          </Button>
        </fieldset>
      ))}
      <div>
        <Button
          onClick={() =>
            onPace({
              ...pace,
              limits: [
                ...limits,
                { key: nextKey(), groupBy: 'location.rack', filter: '', maxUnavailable: '1' },
              ],
            })
          }
        >
          Add a limit
        </Button>
      </div>
    </>
  );
}

export function StopFields<T extends Pace>({ pace, onPace }: PaceProps<T>) {
  const { stop } = pace;
  const set = (change: Partial<StopDraft>) => onPace({ ...pace, stop: { ...stop, ...change } });
  return (
    <>
      <div className="draft-triple">
        <TextInput
          title="Stop after failures"
          value={stop.afterFailures}
          placeholder="never"
          onChange={(afterFailures) => set({ afterFailures })}
        />
        <TextInput
          title="Above % of a wave"
          value={stop.failurePercent}
          placeholder="never"
          onChange={(failurePercent) => set({ failurePercent })}
        />
        <TextInput
          title="Same error, times"
          value={stop.sameError}
          placeholder="never"
          onChange={(sameError) => set({ sameError })}
        />
      </div>
      <TextInput
        title="Or when a finished machine matches, within the soak time"
        value={stop.unhealthy}
        placeholder="conditions.Degraded=true"
        onChange={(unhealthy) => set({ unhealthy })}
      />
      <CheckInput
        title="Stop when a pool becomes degraded"
        checked={stop.poolDegraded}
        onChange={(poolDegraded) => set({ poolDegraded })}
      />
      <CheckInput
        title="Also cancel what is under way when it stops"
        checked={stop.cancelRunning}
        onChange={(cancelRunning) => set({ cancelRunning })}
      />
    </>
  );
}
