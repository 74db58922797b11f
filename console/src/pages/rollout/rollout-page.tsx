/** One rollout, live: what holds it up, its waves, machines, failures, limits and history, and what can be done. */
import { useState } from 'react';
import { Link } from 'wouter';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { Rollout } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { rolloutHref } from '../../pages.ts';
import { finishedOf, rolloutState, stateText, titleOf } from '../../rollout-view.ts';
import '../../styles/rollout.css';
import { ActionRow } from '../../ui/action-row.tsx';
import { Failed, Loading } from '../../ui/blank.tsx';
import { CopyableId, shortId, spokenId } from '../../ui/copyable-id.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Age, Duration } from '../../ui/time.tsx';
import { ActionDialog } from './action-dialog.tsx';
import { CountsBar } from './counts-bar.tsx';
import { FailuresPanel } from './failures-panel.tsx';
import { headlineOf } from './headline.ts';
import { HistoryPanel } from './history-panel.tsx';
import { LimitsPanel } from './limits-panel.tsx';
import { ALL_MACHINES } from './machine-choice.ts';
import { MachinesPanel } from './machines-panel.tsx';
import {
  type AskedAction,
  PAGE_ACTIONS,
  ROLLOUT_ACTIONS,
  type WhyNot,
  waitingWave,
  whyNotNow,
} from './rollout-actions.ts';
import type { RolloutFeed } from './rollout-feed.ts';
import { SpecPanel } from './spec-panel.tsx';
import { useRollout } from './use-rollout.ts';
import { WavesPanel } from './waves-panel.tsx';

export function RolloutPage({ rolloutId }: { rolloutId: string }) {
  const feed = useRollout(rolloutId);
  const { rollout, stream, error } = feed.status;
  if (rollout) return <RolloutShown feed={feed} rollout={rollout} />;
  return (
    <>
      <PageTitle title={rolloutId} />
      {stream === 'failed' ? (
        <Failed what={`Failed to load ${rolloutId}`} error={error} onRetry={() => feed.resume()} />
      ) : (
        <Loading lines={8} />
      )}
    </>
  );
}

function RolloutShown({ feed, rollout }: { feed: RolloutFeed; rollout: Rollout }) {
  const forbidden = useForbidden();
  const [asked, ask] = useState<AskedAction | null>(null);
  const [choice, setChoice] = useState(ALL_MACHINES);
  const title = titleOf(rollout);
  const whyNot: WhyNot = (action) =>
    forbidden('operator', METHODS.changeRollout) || whyNotNow(action, rollout);
  const offered = PAGE_ACTIONS.map((action) => ({
    key: action,
    title: ROLLOUT_ACTIONS[action].title,
    effect: ROLLOUT_ACTIONS[action].effect,
    isDangerous: action === 'abort',
    disabledBecause: whyNot(action),
    run: () => ask(askedOf(action)),
  }));
  useOfferActions(
    offered.map(({ title: verb, disabledBecause, run }) => ({
      text: `${verb}: ${title}`,
      disabledBecause,
      run,
    })),
  );
  return (
    <>
      <PageTitle title={title} actions={<ActionRow actions={offered} />}>
        <span className={`badge tone-${toneOf('rollout', rolloutState(rollout))}`}>
          {stateText(rolloutState(rollout))}
        </span>
      </PageTitle>
      <div className="stack takes-width">
        <HeadlinePanel feed={feed} rollout={rollout} />
        <FailuresPanel
          rollout={rollout}
          whyNot={whyNot}
          onShow={(errorCode) => setChoice({ ...ALL_MACHINES, errorCode })}
          onAct={ask}
        />
        <WavesPanel
          rollout={rollout}
          shown={choice.wave}
          onShow={(wave) => setChoice({ ...ALL_MACHINES, wave })}
          onAct={ask}
        />
        <MachinesPanel
          feed={feed}
          rollout={rollout}
          choice={choice}
          onChoice={setChoice}
          whyNot={whyNot}
          onAct={ask}
        />
        <div className="columns">
          <SpecPanel rollout={rollout} />
          <div className="stack">
            <LimitsPanel rollout={rollout} />
            <HistoryPanel rollout={rollout} />
          </div>
        </div>
      </div>
      {asked && (
        <ActionDialog
          rollout={rollout}
          asked={asked}
          onDone={(changed) => feed.accept(changed)}
          onClose={() => ask(null)}
        />
      )}
    </>
  );
}

function askedOf(action: (typeof PAGE_ACTIONS)[number]): AskedAction {
  return action === 'retry' ? { action, errorCode: '', machineIds: [] } : { action };
}

function HeadlinePanel({ feed, rollout }: { feed: RolloutFeed; rollout: Rollout }) {
  const { text, advice } = headlineOf(rollout);
  const { machines, createdBy, createdAt, startedAt, finishedAt, rolledBackBy, rollsBack } = rollout;
  const tone = waitingWave(rollout) ? 'orange' : toneOf('rollout', rolloutState(rollout));
  return (
    <section className={`ro-headline tone-${tone}`} aria-label="What holds it up">
      <p className="ro-headline-text" role="status">
        {text}
      </p>
      {advice !== '' && <p>{advice}</p>}
      <CountsBar counts={machines} />
      <p className="ro-headline-facts numeric">
        <span>
          {finishedOf(machines).toLocaleString('en')} of {(machines?.total ?? 0).toLocaleString('en')}{' '}
          finished
        </span>
        <span>
          by {createdBy}, <Age at={createdAt} />
        </span>
        {startedAt && (
          <span>
            {finishedAt ? 'took' : 'runs for'} <Duration from={startedAt} to={finishedAt} />
          </span>
        )}
        {rollsBack !== '' && (
          <span>
            rolls back <RolloutLink id={rollsBack} />
          </span>
        )}
        {rolledBackBy.map((id) => (
          <span key={id}>
            rolled back by <RolloutLink id={id} />
          </span>
        ))}
        <CopyableId id={rollout.rolloutId} />
        {feed.status.stream === 'reconnecting' && <strong>reconnecting</strong>}
      </p>
    </section>
  );
}

function RolloutLink({ id }: { id: string }) {
  return (
    <Link className="mono" href={rolloutHref(id)} title={id} aria-label={spokenId(id)}>
      {shortId(id)}
    </Link>
  );
}
