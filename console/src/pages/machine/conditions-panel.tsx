import type { MachineView } from '../../machine-view.ts';
import { Panel } from '../../ui/panel.tsx';
import { Age, msOf } from '../../ui/time.tsx';
import { conditionRows } from './conditions.ts';
import { useExplanation } from './use-machine.ts';

export function ConditionsPanel({ machine }: { machine: MachineView }) {
  // What the next steps say is not said twice.
  const said = (useExplanation(machine.machineId).data?.obstacles ?? []).map(({ what }) => what);
  const reported = machine.message.status?.conditions ?? [];
  const rows = conditionRows(
    reported.map((condition) => ({ ...condition, since: msOf(condition.lastTransition) })),
  );
  const unknown = rows.filter(({ status }) => status === 'unknown');
  return (
    <Panel title="Conditions">
      <ul className="conditions">
        {rows
          .filter(({ status }) => status !== 'unknown')
          .map(({ type, meaning, status, tone, reason, message, since }) => (
            <li key={type}>
              <span className={`badge tone-${tone}`}>{status}</span>
              <div>
                <strong title={meaning}>{type}</strong> <span className="soft">{reason}</span>
                {message && !said.some((what) => what.includes(message)) && (
                  <div className="soft">{message}</div>
                )}
              </div>
              <span className="soft">{since !== null && <Age at={since} suffix="" />}</span>
            </li>
          ))}
        {unknown.length > 0 && (
          <li>
            <span className="badge tone-gray">unknown</span>
            <details>
              <summary className="soft">{unknown.length} not checked yet, or their check failed</summary>
              {unknown.map(({ type, meaning }, index) => (
                <span key={type} title={meaning}>
                  {index > 0 && ', '}
                  {type}
                </span>
              ))}
            </details>
          </li>
        )}
      </ul>
    </Panel>
  );
}
