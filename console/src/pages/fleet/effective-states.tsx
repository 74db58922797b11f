import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { EFFECTIVE_STATES, type EffectiveState } from '../../../../src/domain/machine/effective-state.ts';
import { HEADLINE_TONES } from '../../../../src/domain/machine/headline.ts';
import type { Tone } from '../../../../src/domain/tone.ts';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import { listOf } from '../../pages.ts';
import { Icon } from '../../ui/icon.tsx';
import { countsOf, numberText, stalledHref } from './counts.ts';

/** The six effective states, in their colours and words (docs/operations-api.md). */
export function EffectiveStates({ overview }: { overview: Overview }) {
  const counts = countsOf(overview, 'effective_state');
  const troubled = useTroubled();
  return (
    <section aria-label="Machines by effective state">
      <HealthLine overview={overview} />
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
              <TileText
                state={state}
                meaning={meaning}
                machines={counts.get(state) ?? 0}
                troubled={troubled.get(state) ?? 0}
              />
            </Link>
          </li>
        ))}
      </ul>
      <Proportions counts={counts} troubled={troubled} total={overview.machines} />
    </section>
  );
}

/** Whether all is well, before any number. What needs someone is what the headlines of machines say, whatever state they are in. */
function HealthLine({ overview }: { overview: Overview }) {
  const { machinesFailed, machinesWarned, operationsStalled, agentsLost } = overview;
  const parts = [
    [machinesFailed, 'failed or blocked', listOf('/machines', 'tone = failed')],
    [
      machinesWarned,
      `not as ${machinesWarned === 1 ? 'it' : 'they'} should be`,
      listOf('/machines', 'tone = warning'),
    ],
    [agentsLost, agentsLost === 1 ? 'agent lost' : 'agents lost', listOf('/agents', 'presence = expired')],
    [
      operationsStalled,
      operationsStalled === 1 ? 'operation stalled' : 'operations stalled',
      stalledHref(overview),
    ],
  ] as const;
  const troubled = parts.filter(([count]) => count > 0);
  if (overview.machines === 0) return null;
  return (
    <p className={`health tone-${toneOfHealth(overview)}`} role="status">
      <Icon name={troubled.length > 0 ? 'warning' : 'check'} />
      {troubled.length === 0 && <strong>Nothing needs attention</strong>}
      {troubled.map(([count, what, href]) => (
        <Link key={what} href={href}>
          <strong>{numberText(count)}</strong> {what}
        </Link>
      ))}
    </p>
  );
}

function toneOfHealth({ machinesFailed, machinesWarned, operationsStalled, agentsLost }: Overview): Tone {
  if (machinesFailed > 0) return HEADLINE_TONES.failed.colour;
  const isTroubled = machinesWarned + operationsStalled + agentsLost > 0;
  return isTroubled ? HEADLINE_TONES.warning.colour : 'green';
}

/** Of these every machine needs someone: their tile says so already. */
const ALWAYS_TROUBLED: readonly string[] = ['ATTENTION', 'BLOCKED'];

/** How many machines of each state are not as they should be: one whose agent is lost is IDLE, like those that are well. */
function useTroubled(): ReadonlyMap<string, number> {
  const { data } = useQuery({
    queryKey: ['fleet-wide', 'troubled-by-state'],
    queryFn: () => fleet.countMachines({ filter: 'needs_attention = true', facets: ['effective_state'] }),
  });
  return new Map(data?.facets[0]?.values.map(({ value, machines }) => [value, machines]));
}

interface TileTextProps {
  readonly state: string;
  readonly meaning: string;
  readonly machines: number;
  readonly troubled: number;
}

function TileText({ state, meaning, machines, troubled }: TileTextProps) {
  if (troubled === 0 || ALWAYS_TROUBLED.includes(state)) return <span>{meaning}</span>;
  const well = Math.max(0, machines - troubled);
  return (
    <span className="tile-troubled">
      {numberText(well)} well, {numberText(troubled)} not
    </span>
  );
}

interface ProportionsProps {
  readonly counts: ReadonlyMap<string, number>;
  readonly troubled: ReadonlyMap<string, number>;
  readonly total: number;
}

/** Machines of a state that are not as they should be have the colour of a warning. */
function Proportions({ counts, troubled, total }: ProportionsProps) {
  if (total === 0) return null;
  const parts = Object.entries(EFFECTIVE_STATES).flatMap(([state, { colour }]) => {
    const all = counts.get(state) ?? 0;
    const bad = ALWAYS_TROUBLED.includes(state) ? 0 : Math.min(all, troubled.get(state) ?? 0);
    return [
      { key: state, colour, machines: all - bad },
      { key: `${state} troubled`, colour: 'orange', machines: bad },
    ];
  });
  return (
    <div className="proportions" aria-hidden="true">
      {parts.map(
        ({ key, colour, machines }) =>
          machines > 0 && (
            <div key={key} className={`tone-${colour}`} style={{ width: `${(machines / total) * 100}%` }} />
          ),
      )}
    </div>
  );
}
