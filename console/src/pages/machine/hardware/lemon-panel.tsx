import { LEMON_DAYS } from '../../../../../src/domain/hardware/lemon-score.ts';
import { Failed, Loading } from '../../../ui/blank.tsx';
import { Panel } from '../../../ui/panel.tsx';
import { Age } from '../../../ui/time.tsx';
import { useLemonScore } from './use-hardware.ts';

/** How much trouble the machine was, with the reasons. */
export function LemonPanel({ machineId }: { machineId: string }) {
  const { data, isPending, isError, error, refetch } = useLemonScore(machineId);
  return (
    <Panel title="Lemon score">
      {isPending && <Loading lines={2} />}
      {isError && !data && (
        <Failed what="Failed to load the score" error={error} onRetry={() => void refetch()} />
      )}
      {data && (
        <div className="stack">
          <p>
            <strong className={`lemon-score tone-${lemonTone(data.score)}`}>{data.score}</strong>{' '}
            <span className="soft">
              of 100, from the last {LEMON_DAYS} days{' '}
              {data.scoredAt && (
                <>
                  (scored <Age at={data.scoredAt} />)
                </>
              )}
            </span>
          </p>
          {data.reasons.length === 0 ? (
            <p className="soft">
              No failed operation, no error in its hardware log, no unexpected reboot, no change.
            </p>
          ) : (
            <ul>
              {data.reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Panel>
  );
}

function lemonTone(score: number): 'gray' | 'yellow' | 'red' {
  if (score >= 40) return 'red';
  return score >= 15 ? 'yellow' : 'gray';
}
