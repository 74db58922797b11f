/** The steps on a common timeline. */
import { stepLifecycle } from '../../../../src/domain/operation/step-state.ts';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { StepStatus } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { type OperationView, stepState } from '../../operation-view.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/blank.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Panel } from '../../ui/panel.tsx';
import { durationText, msOf, useNow } from '../../ui/time.tsx';
import { type Attempt, spansWithin } from './attempts.ts';
import { type Bar, timelineOf } from './timeline.ts';
import { useAttempts } from './use-attempts.ts';

export interface StepsPanelProps {
  readonly view: OperationView;
  /** The step that the log is filtered to; empty: none. */
  readonly shown: string;
  readonly onShow: (step: string) => void;
}

export function StepsPanel({ view, shown, onShow }: StepsPanelProps) {
  const { steps, currentStep } = view.message;
  const now = useNow();
  const attempts = useAttempts(view);
  // The bars of a finished operation stop at its end, also for steps that have no end time.
  const end = view.isActive ? now : (msOf(view.message.finishedAt) ?? now);
  const { bars, totalMs } = timelineOf(
    steps.map((step) => ({
      startedAt: msOf(step.startedAt),
      finishedAt: msOf(step.finishedAt),
      wasUndone: stepState(step.state) === 'undone',
    })),
    end,
  );
  return (
    <Panel
      title="Steps"
      padding="none"
      actions={totalMs > 0 && <span className="soft numeric">{durationText(totalMs)} total</span>}
    >
      {steps.length === 0 ? (
        <Empty title="No steps">This operation only updates the machine's record.</Empty>
      ) : (
        <ol className="steps">
          {steps.map((step, index) => (
            <Step
              key={step.name}
              step={step}
              place={index + 1}
              bar={bars[index] ?? null}
              attempts={attempts.get(step.name) ?? []}
              isCurrent={step.name === currentStep}
              isShown={step.name === shown}
              onShow={onShow}
            />
          ))}
        </ol>
      )}
    </Panel>
  );
}

interface StepProps {
  readonly step: StepStatus;
  readonly place: number;
  readonly bar: Bar | null;
  readonly attempts: readonly Attempt[];
  readonly isCurrent: boolean;
  readonly isShown: boolean;
  readonly onShow: (step: string) => void;
}

function Step({ step, place, bar, attempts, isCurrent, isShown, onShow }: StepProps) {
  const state = stepState(step.state);
  const { meaning } = stepLifecycle.states[state];
  const title = (state === 'succeeded' && step.doneTitle) || step.title || step.name;
  return (
    <li className={`step tone-${toneOf('step', state)}`} aria-current={isCurrent ? 'step' : undefined}>
      <button
        type="button"
        className="step-head"
        aria-pressed={isShown}
        title={isShown ? 'Show the whole log' : 'Show the log of this step'}
        onClick={() => onShow(isShown ? '' : step.name)}
      >
        <span className="soft numeric">{place}</span>
        <strong>{title}</strong>
        <span className="step-facts soft numeric">
          {state === 'running' && step.progressPercent > 0 && `${step.progressPercent}% · `}
          {bar && durationText(bar.durationMs)}
        </span>
      </button>
      <div className="step-track">{bar && <StepBar bar={bar} attempts={attempts} />}</div>
      <p className="step-line">
        <StateBadge layer="step" state={state} title={meaning} />
        <span className="soft mono">{step.name}</span>
        {(step.retryCount > 0 || state !== 'waiting') && (
          <span className="soft">
            attempt {step.retryCount + 1} of {step.maxRetries + 1}
          </span>
        )}
        {step.timeoutSeconds > 0 && (
          <span className="soft">limit {durationText(step.timeoutSeconds * 1_000)}</span>
        )}
      </p>
      {step.message && <p className="step-message">{step.message}</p>}
      {step.stalled && (
        <p className="step-stalled tone-orange">
          <Icon name="warning" size={14} /> <strong>Stalled</strong> {step.stalled.message}
        </p>
      )}
    </li>
  );
}

/** One bar, or one span for each of several attempts, with the pauses between them. */
function StepBar({ bar, attempts }: { bar: Bar; attempts: readonly Attempt[] }) {
  const spans = spansWithin(attempts, bar);
  const place = { left: `${bar.left}%`, width: `${bar.width}%` };
  if (spans.length === 0) return <div className="step-bar" style={place} />;
  return (
    <ol className="step-spans" style={place} aria-label="Attempts">
      {spans.map(({ attempt, left, width }) => {
        const length = durationText((attempt.to ?? bar.to) - attempt.from);
        const text = `Attempt ${attempt.number}, ${length}${attempt.message && `: ${attempt.message}`}`;
        return (
          <li
            key={attempt.number}
            className={attempt.ended === 'failed' ? 'step-bar tone-red' : 'step-bar'}
            style={{ left: `${left}%`, width: `${width}%` }}
            title={text}
          >
            <span className="visually-hidden">{text}</span>
          </li>
        );
      })}
    </ol>
  );
}
