/** The error of an operation, whether it can be retried, and what to do next. */
import { FAILURE_CLASSES, type FailureClass } from '../../../../src/domain/error/failure-class.ts';
import { nextActionFor } from '../../../../src/domain/operation/next-action.ts';
import type { OperatorAction } from '../../../../src/domain/operation/operator-action.ts';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { ErrorStatus } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import type { OperationView } from '../../operation-view.ts';
import { Button } from '../../ui/button.tsx';
import type { OfferedAction } from './operator-actions.tsx';

function failureClassOf(error: ErrorStatus | undefined): FailureClass | null {
  const name = error?.details.failure_class ?? '';
  return Object.hasOwn(FAILURE_CLASSES, name) ? (name as FailureClass) : null;
}

function nextFor({ status, message: { error, cancelRequested, approval } }: OperationView) {
  const failureClass = failureClassOf(error);
  const known = error && failureClass ? { code: error.code, failureClass } : null;
  return nextActionFor({ status, cancelRequested, error: known, approval });
}

export function NextPanel({
  view,
  offered,
  onChoose,
}: {
  view: OperationView;
  offered: readonly OfferedAction[];
  onChoose: (action: OperatorAction) => void;
}) {
  const { error } = view.message;
  const { action, next, whatHappened, check, who } = nextFor(view);
  if (view.isActive || (view.phase === 'SUCCEEDED' && !error)) return null;
  const failureClass = failureClassOf(error);
  const offer = offered.find((known) => known.action === action);
  return (
    <section className={`next-panel tone-${toneOf('status', view.status)}`} aria-label="What to do next">
      {error && (
        <>
          <p className="next-error">
            <strong className="mono">{error.code}</strong> {error.message}
          </p>
          <dl className="next-facts">
            {Object.entries({ 'What happened': whatHappened, Check: check, 'Who must act': who }).map(
              ([title, text]) => (
                <div key={title}>
                  <dt>{title}</dt>
                  <dd>{text}</dd>
                </div>
              ),
            )}
            {failureClass && (
              <div>
                <dt>Failure class</dt>
                <dd>
                  {failureClass}: {FAILURE_CLASSES[failureClass].meaning}
                </dd>
              </div>
            )}
            <div>
              <dt>Can be retried</dt>
              <dd>{error.retryable ? 'yes' : 'no, fix the cause first'}</dd>
            </div>
            {Object.entries(error.details)
              .filter(([name, value]) => name !== 'failure_class' && value !== '')
              .map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
          </dl>
        </>
      )}
      <p className="next-advice">
        <strong>Next:</strong> <span>{next}.</span>
        {offer && (
          <Button
            kind="primary"
            disabledBecause={offer.disabledBecause}
            onClick={() => onChoose(offer.action)}
          >
            {offer.title}
          </Button>
        )}
      </p>
    </section>
  );
}
