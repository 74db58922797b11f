/** The progress of the operation in one line. */
import { toneOf } from '../../../../src/domain/tone.ts';
import type { OperationView } from '../../operation-view.ts';
import { ProgressBar } from '../../ui/progress-bar.tsx';

export function ProgressStrip({ view }: { view: OperationView }) {
  const { steps, currentStep, progressPercent, waitingFor, cancelRequested } = view.message;
  // What has ended says so above; how far it came is at its steps.
  if (!view.isActive) return null;
  const index = steps.findIndex(({ name }) => name === currentStep);
  const step = steps[index];
  return (
    <div className={`progress-strip tone-${toneOf('status', view.status)}`}>
      <ProgressBar label="Progress over all steps" percent={progressPercent} />
      <p>
        <strong className="numeric">{progressPercent}%</strong>
        {step && (
          <span>
            Step {index + 1} of {steps.length}: {step.title || step.name}
          </span>
        )}
        {step?.stalled && <span className="badge tone-orange">stalled {step.stalled.message}</span>}
        {waitingFor !== '' && (
          <span>
            <span className="soft">Waiting:</span> {waitingFor.replace(/^waiting for /, '')}
          </span>
        )}
        {cancelRequested && view.isActive && (
          <span className="badge tone-yellow">cancel requested, stopping</span>
        )}
      </p>
    </div>
  );
}
