/** The steps on a common timeline. */
import { stepLifecycle } from '../../../../src/domain/operation/step-state.ts';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { StepStatus } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { type OperationView, stepState } from '../../operation-view.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/blank.tsx';
import { Panel } from '../../ui/panel.tsx';
import { durationText, msOf, useNow } from '../../ui/time.tsx';
import { type Bar, timelineOf } from './timeline.ts';

export function StepsPanel({ view }: { view: OperationView }) {
  const { steps, currentStep } = view.message;
  const now = useNow();
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
        <table className="table steps">
          <thead>
            <tr>
              <th className="number">#</th>
              <th>State</th>
              <th>Step</th>
              <th>Time</th>
              <th className="number">Duration</th>
              <th className="number">Attempt</th>
              <th className="number">Time limit</th>
            </tr>
          </thead>
          <tbody>
            {steps.map((step, index) => (
              <Step
                key={step.name}
                step={step}
                place={index + 1}
                bar={bars[index] ?? null}
                isCurrent={step.name === currentStep}
              />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

interface StepProps {
  readonly step: StepStatus;
  readonly place: number;
  readonly bar: Bar | null;
  readonly isCurrent: boolean;
}

function Step({ step, place, bar, isCurrent }: StepProps) {
  const state = stepState(step.state);
  const { meaning } = stepLifecycle.states[state];
  const title = (state === 'succeeded' && step.doneTitle) || step.title || step.name;
  return (
    <tr aria-current={isCurrent ? 'step' : undefined}>
      <td className="number soft">{place}</td>
      <td>
        <StateBadge layer="step" state={state} title={meaning} />
      </td>
      <td className="step-what">
        <strong>{title}</strong>{' '}
        <span className="soft mono">
          {step.name}
          {step.kind !== step.name && ` (${step.kind})`}
        </span>
        {state === 'running' && step.progressPercent > 0 && (
          <span className="soft numeric"> {step.progressPercent}%</span>
        )}
        {step.message && <div className="step-message">{step.message}</div>}
      </td>
      <td className="step-time">
        <div className={`step-track tone-${toneOf('step', state)}`}>
          {bar && <div className="step-bar" style={{ left: `${bar.left}%`, width: `${bar.width}%` }} />}
        </div>
      </td>
      <td className="number">{bar ? durationText(bar.durationMs) : <span className="soft">–</span>}</td>
      <td className="number">
        {state === 'waiting' && step.retryCount === 0 ? (
          <span className="soft">–</span>
        ) : (
          `${step.retryCount + 1} of ${step.maxRetries + 1}`
        )}
      </td>
      <td className="number">{step.timeoutSeconds > 0 ? durationText(step.timeoutSeconds * 1_000) : '–'}</td>
    </tr>
  );
}
