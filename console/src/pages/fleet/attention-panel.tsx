/** Everything that needs a person, the largest group first: failures, lost agents, drift, what is overdue or stalled. */
import { Link } from 'wouter';
import { reasonWords } from '../../../../src/domain/machine/headline.ts';
import type { Overview } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { OperationType } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import { capitalize } from '../../capitalize.ts';
import { operationWords } from '../../operation-words.ts';
import { listOf, machineHref, operationHref } from '../../pages.ts';
import { Empty } from '../../ui/blank.tsx';
import { IdText } from '../../ui/id-text.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age, ageText, msOf } from '../../ui/time.tsx';
import { numberText, stalledHref } from './counts.ts';

const STALLED_SHOWN = 3;

export function AttentionPanel({ overview }: { overview: Overview }) {
  const { attention, overdue, stalled, operationsStalled } = overview;
  const isQuiet = attention.length + overdue.length + stalled.length === 0;
  return (
    <Panel title="Needs attention" padding="none">
      {isQuiet ? (
        <Empty title="Nothing needs attention" />
      ) : (
        <table className="table fixed attention">
          <thead>
            <tr>
              <th className="number narrow">Number</th>
              <th>What</th>
              <th className="narrow">Latest</th>
            </tr>
          </thead>
          <tbody>
            {attention.map((group) => (
              <AttentionRow key={`${group.condition} ${group.reason}`} group={group} />
            ))}
            {operationsStalled > 0 && <StalledRow overview={overview} />}
            {overdue.map((group) => (
              <OverdueRow key={`${group.layer} ${group.state}`} group={group} />
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function AttentionRow({ group }: { group: Overview['attention'][number] }) {
  const { condition, reason, machines, filter, exampleMachineId, exampleMessage, newest } = group;
  const title = capitalize(group.title || reasonWords(reason));
  return (
    <tr>
      <td className="number">
        <Link href={listOf('/machines', filter)} aria-label={`${machines} machines: ${title}`}>
          {numberText(machines)}
        </Link>
      </td>
      <td>
        <strong>{title}</strong>{' '}
        <span className="soft">{condition && condition !== 'NeedsIntervention' ? condition : ''}</span>
        <div className="soft clipped" title={exampleMessage}>
          <Link href={machineHref(exampleMachineId)}>{exampleMachineId}</Link>
          {exampleMessage && (
            <>
              : <IdText>{exampleMessage}</IdText>
            </>
          )}
        </div>
      </td>
      <td>
        <Age at={newest} />
      </td>
    </tr>
  );
}

/** Operations whose step is slower than 99 % of its history. */
function StalledRow({ overview }: { overview: Overview }) {
  const { stalled, operationsStalled } = overview;
  return (
    <tr>
      <td className="number">
        <Link href={stalledHref(overview)} aria-label={`${operationsStalled} stalled operations`}>
          {numberText(operationsStalled)}
        </Link>
      </td>
      <td>
        <strong>Stalled operations</strong> <span className="soft">slower than 99 % of their history</span>
        {stalled.slice(0, STALLED_SHOWN).map(({ operationId, machineId, type, stall }) => (
          <div key={operationId} className="soft clipped">
            <Link href={operationHref(operationId)}>
              {operationWords(OperationType[type] ?? '')} {machineId}
            </Link>
            {stall && `: ${stall.step}, ${stall.message}`}
          </div>
        ))}
      </td>
      <td>
        <Age at={stalled.map(({ stall }) => msOf(stall?.since) ?? 0).reduce((a, b) => Math.max(a, b), 0)} />
      </td>
    </tr>
  );
}

/** Machines that have exceeded the time limit of a state. */
function OverdueRow({ group }: { group: Overview['overdue'][number] }) {
  const { layer, state, machines, filter, limitSeconds, advice } = group;
  const title =
    layer === 'maintenance' ? 'Maintenance overdue' : `Too long in ${layer.replace('_', ' ')} ${state}`;
  return (
    <tr>
      <td className="number">
        <Link href={listOf('/machines', filter)} aria-label={`${machines} machines: ${title}`}>
          {numberText(machines)}
        </Link>
      </td>
      <td>
        <strong>{title}</strong>
        <div className="soft clipped" title={advice}>
          {advice}
        </div>
      </td>
      <td className="soft">{limitSeconds === 0n ? '' : `limit ${ageText(Number(limitSeconds) * 1000)}`}</td>
    </tr>
  );
}
