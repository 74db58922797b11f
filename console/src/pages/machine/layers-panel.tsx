import type { ReactNode } from 'react';
import { EFFECTIVE_STATES, effectiveReason } from '../../../../src/domain/machine/effective-state.ts';
import type { Maintenance } from '../../../../src/gen/baremetal/v2/machine_pb.ts';
import type { MachineView } from '../../machine-view.ts';
import { AvailableBadge } from '../../ui/available-badge.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { SchedulableBadge } from '../../ui/schedulable-badge.tsx';
import { Age, Clock } from '../../ui/time.tsx';
import {
  LAYER_NAMES,
  LAYERS,
  type LayerName,
  meaningOf,
  OBSERVED_QUESTION,
  observedDisagreement,
} from './layers.ts';
import { useExplanation, useSince } from './use-machine.ts';

/** The layers side by side: they are independent of each other. */
export function LayersPanel({ machine }: { machine: MachineView }) {
  return (
    <section className="layers" aria-label="State layers">
      {LAYER_NAMES.map((layer) => (
        <Layer key={layer} layer={layer} machine={machine} />
      ))}
      <Observed machine={machine} />
    </section>
  );
}

export function EffectivePanel({ machine }: { machine: MachineView }) {
  const { effectiveState, message } = machine;
  if (machine.service === 'deleted') {
    return (
      <p className="effective">
        <StateBadge layer="service" state="deleted" />
        <strong>Permanently removed.</strong>{' '}
        <span className="soft">This is its last known state. No actions are available.</span>
      </p>
    );
  }
  const { meaning, userAction } = EFFECTIVE_STATES[effectiveState];
  return (
    <p className="effective">
      <StateBadge layer="effective_state" state={effectiveState} />
      <strong>{meaning}</strong>, because {effectiveReason(machine)}.{' '}
      <span className="soft">
        {message.status?.effectiveSince && (
          <>
            For <Age at={message.status.effectiveSince} suffix="" />.{' '}
          </>
        )}
        What to do: {userAction}.
      </span>
      <MaintenanceText maintenance={message.status?.maintenance} />
      {message.status?.available === false && (
        <>
          {' '}
          <AvailableBadge status={message.status} />{' '}
          <span className="soft">
            It counts as unavailable for budgets and rollouts, because {message.status.unavailableMessage}.
          </span>
        </>
      )}
      {machine.presence !== '' && (
        <>
          {' '}
          <SchedulableBadge status={message.status} />{' '}
          <span className="soft">
            {message.status?.schedulable
              ? 'Workloads can be scheduled on it.'
              : `No workloads are scheduled on it, because ${message.status?.unschedulableMessage}.`}
          </span>
        </>
      )}
    </p>
  );
}

/** One line: since when, until when, why, on whose order; nothing for a machine that is in no maintenance. */
function MaintenanceText({ maintenance }: { maintenance: Maintenance | undefined }) {
  if (!maintenance) return null;
  const { since, until, reason, by, exitsByItself, overdue } = maintenance;
  return (
    <>
      {' '}
      {overdue && <span className="badge tone-orange">maintenance overdue</span>}{' '}
      <span className="soft">
        In maintenance since <Age at={since} />
        {by !== '' && ` by ${by}`}
        {reason !== '' && `: ${reason}`}.
        {until && (
          <>
            {' '}
            {overdue ? 'It was over at ' : 'It ends at '}
            <Clock at={until} />
            {exitsByItself && '; the machine returns to service by itself'}.
          </>
        )}
      </span>
    </>
  );
}

function Layer({ layer, machine }: { layer: LayerName; machine: MachineView }) {
  const { title, lifecycle } = LAYERS[layer];
  const state = machine[layer] ?? '';
  const { status } = machine.message;
  const reportedSince = {
    phase: undefined,
    service: status?.serviceSince,
    install: status?.installSince,
    presence: undefined,
  };
  const fromHistory = useSince(machine.machineId, layer, reportedSince[layer] ? '' : state);
  // A phase that never changed is as old as the machine.
  const since =
    reportedSince[layer] ?? fromHistory ?? (layer === 'phase' ? machine.message.createdAt : undefined);
  return (
    <LayerCard
      title={title}
      question={lifecycle.question}
      badge={<StateBadge layer={layer} state={state} />}
      meaning={meaningOf(layer, state)}
      since={state !== '' && since !== undefined ? <Age at={since} suffix="" /> : null}
    />
  );
}

function Observed({ machine }: { machine: MachineView }) {
  const observed = machine.message.status?.observed;
  const disagreement = observed ? observedDisagreement(observed, machine.service) : null;
  const tone = disagreement === null ? 'gray' : 'red';
  const failure = useExplanation(machine.machineId).data?.upstream?.failure ?? '';
  return (
    <LayerCard
      title="Observed"
      question={OBSERVED_QUESTION}
      badge={
        observed ? (
          <span className={`badge tone-${tone}`}>{observed.state}</span>
        ) : (
          <span className="soft">–</span>
        )
      }
      meaning={
        observed
          ? `Reported by ${observed.source}${observed.power && `; power ${observed.power}`}${observed.upstreamId && `; upstream id ${observed.upstreamId}`}.`
          : 'No upstream, or not observed yet.'
      }
      since={observed && <Age at={observed.at} suffix="" />}
    >
      {observed?.seenAt && (
        <p className="soft">
          Seen <Age at={observed.seenAt} />.
        </p>
      )}
      {failure !== '' && (
        <p>
          <strong>Last read failed:</strong> {failure}.
        </p>
      )}
      {disagreement !== null && (
        <p>
          <strong>Drift:</strong> {disagreement}.
        </p>
      )}
    </LayerCard>
  );
}

interface LayerCardProps {
  readonly title: string;
  readonly question: string;
  readonly badge: ReactNode;
  readonly meaning: string;
  readonly since: ReactNode;
  readonly children?: ReactNode;
}

function LayerCard({ title, question, badge, meaning, since, children }: LayerCardProps) {
  return (
    <div className="panel layer">
      <h2>{title}</h2>
      <p className="soft question">{question}</p>
      <p className="row">
        {badge}
        {since && <span className="soft">for {since}</span>}
      </p>
      <p className="meaning">{meaning}</p>
      {children}
    </div>
  );
}
