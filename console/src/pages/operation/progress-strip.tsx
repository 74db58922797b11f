/** How far it is, in one line. */
import { toneOf } from '../../../../src/domain/tone.ts';
import type { OperationView } from '../../operation-view.ts';

export function ProgressStrip({ view }: { view: OperationView }) {
  const { steps, currentStep, progressPercent, waitingFor, cancelRequested } = view.message;
  const place = steps.findIndex(({ name }) => name === currentStep);
  const step = steps[place];
  const percent = view.phase === 'SUCCEEDED' ? 100 : progressPercent;
  return (
    <div className={`progress-strip tone-${toneOf('status', view.status)}`}>
      <div
        className="progress"
        role="progressbar"
        aria-label="Progress over all steps"
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <div style={{ width: `${percent}%` }} />
      </div>
      <p>
        <strong className="numeric">{percent}%</strong>
        {step && (
          <span>
            Step {place + 1} of {steps.length}: {step.title || step.name}
          </span>
        )}
        {waitingFor !== '' && (
          <span>
            <span className="soft">Waiting:</span> {waitingFor.replace(/^waiting for /, '')}
          </span>
        )}
        {cancelRequested && view.isActive && (
          <span className="badge tone-yellow">cancel requested: it is stopping</span>
        )}
      </p>
    </div>
  );
}
