import { Link } from 'wouter';
import {
  isMachineAction,
  MACHINE_ACTIONS,
  type MachineAction,
} from '../../../../src/domain/machine/machine-action.ts';
import { OPERATOR_ACTIONS, type OperatorAction } from '../../../../src/domain/operation/operator-action.ts';
import type { Obstacle } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { capitalize } from '../../capitalize.ts';
import { operationHref } from '../../pages.ts';
import { Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Command } from '../../ui/command.tsx';
import { IdText } from '../../ui/id-text.tsx';
import { Panel } from '../../ui/panel.tsx';
import { titleOf, useOfferedActions } from '../operation/operator-actions.tsx';
import { useExplanation } from './use-machine.ts';
import { useOperation } from './use-operation.ts';

export interface ExplainPanelProps {
  readonly machineId: string;
  readonly whyNotNow: (action: MachineAction) => string;
  readonly onAction: (action: MachineAction, known: Readonly<Record<string, string>>) => void;
  readonly onOperationAction: (action: OperatorAction, operationId: string) => void;
}

/** Why the machine is not in service, what unblocks it and who must act. */
export function ExplainPanel(props: ExplainPanelProps) {
  const { machineId } = props;
  const { data, isPending, isError, error, refetch } = useExplanation(machineId);
  return (
    <Panel title="Next steps">
      {isPending && <Loading />}
      {isError && !data && (
        <Failed what="Failed to load the explanation" error={error} onRetry={() => void refetch()} />
      )}
      {data && (
        <div className="stack">
          {data.obstacles.length === 0 && (
            <p>
              <strong>{data.summary}</strong>
            </p>
          )}
          {data.obstacles.length > 0 && (
            <ol className="obstacles">
              {data.obstacles.map((obstacle, index) => (
                <ObstacleEntry
                  key={obstacle.what}
                  obstacle={obstacle}
                  place={index === 0 ? 'first' : 'later'}
                  {...props}
                />
              ))}
            </ol>
          )}
          <Command>{`ingot explain ${machineId}`}</Command>
        </div>
      )}
    </Panel>
  );
}

function ObstacleEntry({
  obstacle,
  place,
  ...props
}: ExplainPanelProps & { obstacle: Obstacle; place: 'first' | 'later' }) {
  const { what, unblock, who, command, operationId } = obstacle;
  return (
    <li className="obstacle">
      <p>
        <IdText>{sentence(what)}</IdText>
      </p>
      <p className="soft">
        {sentence(unblock)} {who === 'nobody' ? 'No action is needed.' : `Who must act: ${who}.`}
      </p>
      <div className="row">
        <NextAction obstacle={obstacle} place={place} {...props} />
        {operationId !== '' && (
          <Link className="button" href={operationHref(operationId)}>
            View operation
          </Link>
        )}
      </div>
      {command !== '' && <Command>{`ingot ${command}`}</Command>}
    </li>
  );
}

function NextAction({
  obstacle: { action, operationId, params },
  place,
  whyNotNow,
  onAction,
  onOperationAction,
}: ExplainPanelProps & { obstacle: Obstacle; place: 'first' | 'later' }) {
  const { data: operation } = useOperation(operationId);
  const offered = useOfferedActions(operation ?? null);
  const kind = place === 'first' ? 'primary' : 'plain';
  if (isMachineAction(action)) {
    return (
      <Button kind={kind} disabledBecause={whyNotNow(action)} onClick={() => onAction(action, params)}>
        {MACHINE_ACTIONS[action].title}
      </Button>
    );
  }
  if (!isOperatorAction(action) || operationId === '') return null;
  return (
    <Button
      kind={kind}
      disabledBecause={
        offered.find((known) => known.action === action)?.disabledBecause ?? 'Loading the operation…'
      }
      onClick={() => onOperationAction(action, operationId)}
    >
      {titleOf(action)}
    </Button>
  );
}

function isOperatorAction(text: string): text is OperatorAction {
  return Object.hasOwn(OPERATOR_ACTIONS, text);
}

function sentence(text: string): string {
  return `${capitalize(text)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
