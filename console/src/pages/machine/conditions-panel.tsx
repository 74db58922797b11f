import type { MachineView } from '../../machine-view.ts';
import { Panel } from '../../ui/panel.tsx';
import { Age, msOf } from '../../ui/time.tsx';
import { conditionRows } from './conditions.ts';

export function ConditionsPanel({ machine }: { machine: MachineView }) {
  const told = machine.message.status?.conditions ?? [];
  const rows = conditionRows(
    told.map((condition) => ({ ...condition, since: msOf(condition.lastTransition) })),
  );
  return (
    <Panel title="Conditions" padding="none">
      <table className="table conditions">
        <thead>
          <tr>
            <th scope="col">Condition</th>
            <th scope="col">Status</th>
            <th scope="col">Why</th>
            <th scope="col">For</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ type, meaning, status, tone, reason, message, since }) => (
            <tr key={type}>
              <th scope="row" title={meaning}>
                {type}
              </th>
              <td>
                <span className={`badge tone-${tone}`}>{status}</span>
              </td>
              <td>
                {reason || <span className="soft">{status === 'unknown' ? meaning : '–'}</span>}
                {message && <div className="soft">{message}</div>}
              </td>
              <td>{since === null ? <span className="soft">–</span> : <Age at={since} suffix="" />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}
