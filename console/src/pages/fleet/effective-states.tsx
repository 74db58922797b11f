import { Link } from 'wouter';
import { EFFECTIVE_STATES, type EffectiveState } from '../../../../src/domain/machine/effective-state.ts';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { listOf } from '../../pages.ts';
import { Icon } from '../../ui/icon.tsx';
import { countsOf, numberText } from './counts.ts';

/** The six effective states, in their colours and words (docs/operations-api.md). */
export function EffectiveStates({ overview }: { overview: Overview }) {
  const counts = countsOf(overview, 'effective_state');
  return (
    <section aria-label="Machines by effective state">
      <HealthLine overview={overview} counts={counts} />
      <ul className="tiles">
        <li>
          <Link className="tile tone-gray" href="/machines">
            <span className="count">{numberText(overview.machines)}</span>
            <strong>ALL</strong>
            <span>in the inventory</span>
          </Link>
        </li>
        {Object.entries(EFFECTIVE_STATES).map(([state, { colour, meaning, userAction }]) => (
          <li key={state}>
            <Link
              className={`tile tone-${colour}`}
              href={listOf('/machines', `effective_state = ${state}`)}
              title={userAction}
            >
              <span className="count">{numberText(counts.get(state as EffectiveState) ?? 0)}</span>
              <strong>{state}</strong>
              <span>{meaning}</span>
            </Link>
          </li>
        ))}
      </ul>
      <Proportions counts={counts} total={overview.machines} />
    </section>
  );
}

/** Whether all is well, before any number: machines whose agent is lost are IDLE, like those that are well. */
function HealthLine({ overview, counts }: { overview: Overview; counts: ReadonlyMap<string, number> }) {
  const parts = [
    [counts.get('ATTENTION') ?? 0, 'need help', listOf('/machines', 'effective_state = ATTENTION')],
    [counts.get('BLOCKED') ?? 0, 'unusable', listOf('/machines', 'effective_state = BLOCKED')],
    [overview.agentsLost, 'agents lost', listOf('/agents', 'presence = expired')],
  ] as const;
  const troubled = parts.filter(([count]) => count > 0);
  if (overview.machines === 0) return null;
  return (
    <p className={`health tone-${troubled.length > 0 ? 'orange' : 'green'}`} role="status">
      <Icon name={troubled.length > 0 ? 'warning' : 'check'} />
      {troubled.length === 0 && <strong>No machine needs attention</strong>}
      {troubled.map(([count, what, href]) => (
        <Link key={what} href={href}>
          <strong>{numberText(count)}</strong> {what}
        </Link>
      ))}
    </p>
  );
}

function Proportions({ counts, total }: { counts: ReadonlyMap<string, number>; total: number }) {
  if (total === 0) return null;
  return (
    <div className="proportions" aria-hidden="true">
      {Object.entries(EFFECTIVE_STATES).map(([state, { colour }]) => {
        const share = ((counts.get(state) ?? 0) / total) * 100;
        return share > 0 && <div key={state} className={`tone-${colour}`} style={{ width: `${share}%` }} />;
      })}
    </div>
  );
}
