import { Link } from 'wouter';
import type { OperatorAction } from '../../../../src/domain/operation/operator-action.ts';
import { toneOf } from '../../../../src/domain/tone.ts';
import { StepStatus_State } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { type OperationView, stepState } from '../../operation-view.ts';
import { operationWords } from '../../operation-words.ts';
import { operationHref, rolloutHref } from '../../pages.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { shortId } from '../../ui/copyable-id.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { Age, Duration } from '../../ui/time.tsx';
import { useOfferedActions } from '../operation/operator-actions.tsx';
import { useOperation } from './use-operation.ts';

export interface OperationPanelProps {
  /** The active operation, or the newest; empty: none yet. */
  readonly operationId: string;
  readonly onOperationAction: (action: OperatorAction, operationId: string) => void;
  /** The next steps say why these failed; it is not said twice. */
  readonly explained: ReadonlySet<string>;
}

/** The progress of the active operation, or the result of the last one. */
export function OperationPanel({ operationId, onOperationAction, explained }: OperationPanelProps) {
  const { data, isPending, isError, error, refetch } = useOperation(operationId);
  const cancel = useOfferedActions(data ?? null).find(({ action }) => action === 'cancel');
  if (operationId === '') {
    return (
      <Panel title="Operation">
        <Empty title="No operations yet">Start one with the actions at the top of the page.</Empty>
      </Panel>
    );
  }
  return (
    <Panel
      title={data?.isActive === false ? 'Last operation' : 'Current operation'}
      actions={
        data?.isActive && (
          <Button
            disabledBecause={cancel?.disabledBecause}
            onClick={() => onOperationAction('cancel', operationId)}
          >
            Cancel
          </Button>
        )
      }
    >
      {isPending && <Loading lines={5} />}
      {isError && !data && (
        <Failed what="Failed to load the operation" error={error} onRetry={() => void refetch()} />
      )}
      {data && <Progress operation={data} error={explained.has(operationId) ? 'said above' : 'shown'} />}
    </Panel>
  );
}

function Progress({ operation, error }: { operation: OperationView; error: 'shown' | 'said above' }) {
  const { operationId, type, phase, status, message } = operation;
  const { progressPercent, steps, error: failure, waitingFor } = message;
  return (
    <div className="stack">
      <div className="row">
        <strong>{operationWords(type)}</strong>
        <StateBadge layer="operation_phase" state={phase} />
        <Link href={operationHref(operationId)}>{shortId(operationId)}</Link>
        <span className="soft">
          by {message.startedBy}, <Age at={message.createdAt} />
        </span>
        {message.rolloutId !== '' && (
          <span className="soft">
            part of rollout <Link href={rolloutHref(message.rolloutId)}>{message.rolloutId}</Link>
          </span>
        )}
      </div>
      <ProgressBar label="Progress" percent={progressPercent} tone={toneOf('status', status)} />
      <p className="soft numeric">
        {progressPercent}%, {steps.filter(({ state }) => state === StepStatus_State.SUCCEEDED).length} of{' '}
        {steps.length} steps done{waitingFor && `, waiting: ${waitingFor}`}
      </p>
      {failure && error === 'shown' && (
        <p className="fault">
          {failure.code}: {failure.message}
        </p>
      )}
      <ol className="step-list">
        {steps.map((step) => (
          <li key={step.name}>
            <StateBadge layer="step" state={stepState(step.state)} />
            <span>{step.title || step.name}</span>
            <span className="soft numeric">
              {step.state === StepStatus_State.RUNNING &&
                step.progressPercent > 0 &&
                `${step.progressPercent}%, `}
              {step.retryCount > 0 && `retry ${step.retryCount}, `}
              {step.startedAt && <Duration from={step.startedAt} to={step.finishedAt} />}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
