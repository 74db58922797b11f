/** The error of an operation, whether it can be retried, and what to do next. */
import { FAILURE_CLASSES, type FailureClass } from '../../../../src/domain/error/failure-class.ts';
import { nextActionFor } from '../../../../src/domain/operation/next-action.ts';
import type { OperatorAction } from '../../../../src/domain/operation/operator-action.ts';
import { toneOf } from '../../../../src/domain/tone.ts';
import type { ErrorStatus } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { capitalize } from '../../capitalize.ts';
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
        <p className="next-error">
          <strong>{capitalize(error.message)}</strong>
        </p>
      )}
      {error && <ErrorAdvice advice={{ whatHappened, check, who }} />}
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
      {error && <ErrorFacts error={error} failureClass={failureClass} status={view.status} />}
    </section>
  );
}

interface Advice {
  readonly whatHappened: string;
  readonly check: string;
  readonly who: string;
}

function ErrorAdvice({ advice: { whatHappened, check, who } }: { advice: Advice }) {
  return (
    <p className="next-what">
      {capitalize(whatHappened)}. {capitalize(check)}. <span className="soft">Who must act: {who}.</span>
    </p>
  );
}

interface ErrorFactsProps {
  readonly error: ErrorStatus;
  readonly failureClass: FailureClass | null;
  readonly status: string;
}

/** What a program or a ticket needs, and a person at 3 a.m. does not. */
function ErrorFacts({ error, failureClass, status }: ErrorFactsProps) {
  const facts = [
    ['Code', error.code],
    ['Status', status],
    ...(failureClass ? [['Failure class', `${failureClass}: ${FAILURE_CLASSES[failureClass].meaning}`]] : []),
    ['Can be retried', error.retryable ? 'yes' : 'no, fix the cause first'],
    ...Object.entries(error.details).filter(([name, value]) => name !== 'failure_class' && value !== ''),
  ];
  return (
    <dl className="next-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
