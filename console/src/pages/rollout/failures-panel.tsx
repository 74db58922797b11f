/** The machines that failed, grouped by error, each group with a button that retries it. */
import { Link } from 'wouter';
import type { Rollout } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { countText } from '../../count-text.ts';
import { machineHref } from '../../pages.ts';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import type { AskedAction, WhyNot } from './rollout-actions.ts';

export interface FailuresPanelProps {
  readonly rollout: Rollout;
  readonly whyNot: WhyNot;
  readonly onShow: (errorCode: string) => void;
  readonly onAct: (asked: AskedAction) => void;
}

export function FailuresPanel({ rollout: { failures }, whyNot, onShow, onAct }: FailuresPanelProps) {
  if (failures.length === 0) return null;
  return (
    <Panel title="Failures" padding="none">
      <ul className="ro-failures">
        {failures.map(({ errorCode, machines, exampleMachineId, exampleMessage }) => (
          <li key={errorCode} className="ro-failure" aria-label={errorCode}>
            <strong className="ro-failure-count numeric">{machines.toLocaleString('en')}</strong>
            <div className="ro-failure-what">
              <code>{errorCode || 'UNKNOWN'}</code>
              <div className="wraps">
                {exampleMessage}{' '}
                <span className="soft">
                  (<Link href={machineHref(exampleMachineId)}>{exampleMachineId}</Link>
                  {machines > 1 && ` and ${countText(machines - 1, 'other')}`})
                </span>
              </div>
            </div>
            <div className="row">
              <Button
                kind="quiet"
                onClick={() => onShow(errorCode)}
                label={`Show machines with ${errorCode}`}
              >
                Show
              </Button>
              <Button
                disabledBecause={whyNot('retry')}
                onClick={() => onAct({ action: 'retry', errorCode, machineIds: [] })}
              >
                {`Retry ${countText(machines)}`}
              </Button>
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
