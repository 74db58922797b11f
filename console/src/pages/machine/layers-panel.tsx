import type { ReactNode } from 'react';
import { messageHeadline } from '../../../../src/client/message-headline.ts';
import { EFFECTIVE_STATES, effectiveReason } from '../../../../src/domain/machine/effective-state.ts';
import type { Machine, Maintenance } from '../../../../src/gen/baremetal/v2/machine_pb.ts';
import { capitalize } from '../../capitalize.ts';
import type { MachineView } from '../../machine-view.ts';
import { AvailableBadge } from '../../ui/available-badge.tsx';
import { StateBadge } from '../../ui/badge.tsx';
import { Panel } from '../../ui/panel.tsx';
import { SchedulableBadge } from '../../ui/schedulable-badge.tsx';
import { Age, Clock, useNow } from '../../ui/time.tsx';
import {
  LAYER_NAMES,
  LAYERS,
  type LayerName,
  meaningOf,
  OBSERVED_QUESTION,
  observedDisagreement,
} from './layers.ts';
import { useExplanation, useSince } from './use-machine.ts';

type ObservedMessage = NonNullable<NonNullable<Machine['status']>['observed']>;

/** The layers side by side: they are independent of each other. Those that the machine does not have are not shown. */
export function LayersPanel({ machine }: { machine: MachineView }) {
  const observed = machine.message.status?.observed;
  return (
    <Panel title="State layers">
      <ul className="layer-list">
        {LAYER_NAMES.filter((layer) => (machine[layer] ?? '') !== '').map((layer) => (
          <Layer key={layer} layer={layer} machine={machine} />
        ))}
        {observed && <Observed machine={machine} observed={observed} />}
      </ul>
    </Panel>
  );
}

/**
 * What the machine is, in one sentence. What failed is said once: where the next steps name the failure, they say it with what
 * to do.
 */
export function EffectivePanel({ machine }: { machine: MachineView }) {
  const { effectiveState, message } = machine;
  const headline = messageHeadline(message, useNow());
  const explanation = useExplanation(machine.machineId);
  const isSaidBelow = headline.needsAttention && (explanation.data?.obstacles.length ?? 0) > 0;
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
      <strong>{capitalize(headline.needsAttention ? headline.notes.join(', ') || meaning : meaning)}</strong>
      {!headline.needsAttention && `, because ${effectiveReason(machine)}`}.{' '}
      <span className="soft">
        {message.status?.effectiveSince && (
          <>
            For <Age at={message.status.effectiveSince} suffix="" />.{' '}
          </>
        )}
        {!headline.needsAttention && `What to do: ${userAction}.`}
      </span>
      <MaintenanceText maintenance={message.status?.maintenance} />
      <ServiceText machine={machine} reasons={isSaidBelow ? 'said below' : 'shown'} />
    </p>
  );
}

/** Whether budgets count it, and whether work is placed on it. */
function ServiceText({
  machine: { presence, message },
  reasons,
}: {
  machine: MachineView;
  reasons: 'shown' | 'said below';
}) {
  const { status } = message;
  const isSaidBelow = reasons === 'said below';
  return (
    <>
      {status?.available === false && (
        <>
          {' '}
          <AvailableBadge status={status} />{' '}
          <span className="soft">
            It counts as unavailable for budgets and rollouts
            {!isSaidBelow && `, because ${status.unavailableMessage}`}.
          </span>
        </>
      )}
      {presence !== '' && (
        <>
          {' '}
          <SchedulableBadge status={status} />{' '}
          <span className="soft">
            {status?.schedulable
              ? 'Workloads can be scheduled on it.'
              : `No workloads are scheduled on it, because ${status?.unschedulableMessage}.`}
          </span>
        </>
      )}
    </>
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

function Observed({ machine, observed }: { machine: MachineView; observed: ObservedMessage }) {
  const disagreement = observedDisagreement(observed, machine.service);
  const failure = useExplanation(machine.machineId).data?.upstream?.failure ?? '';
  return (
    <LayerCard
      title="Observed"
      question={OBSERVED_QUESTION}
      badge={<span className={`badge tone-${disagreement === null ? 'gray' : 'red'}`}>{observed.state}</span>}
      meaning={`Reported by ${observed.source}${observed.power && `; power ${observed.power}`}${observed.upstreamId && `; upstream id ${observed.upstreamId}`}.`}
      since={<Age at={observed.at} suffix="" />}
    >
      {observed.seenAt && (
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
    <li className="layer-row">
      <h3 title={question}>{title}</h3>
      <span>{badge}</span>
      {since && <span className="soft">for {since}</span>}
      <div className="note soft">{meaning}</div>
      {children && <div className="note">{children}</div>}
    </li>
  );
}
