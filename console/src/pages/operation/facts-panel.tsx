/** Who asked for what, and when. */
import { Link } from 'wouter';
import type { OperationView } from '../../operation-view.ts';
import { listOf, machineHref, quoted } from '../../pages.ts';
import { Panel } from '../../ui/panel.tsx';
import { Age, Duration } from '../../ui/time.tsx';

export function FactsPanel({ view }: { view: OperationView }) {
  const { message, machineId } = view;
  const { createdAt, startedAt, finishedAt, startedBy, requestId, planId, params } = message;
  return (
    <Panel title="What was asked for">
      <dl className="facts op-facts">
        <dt>Machine</dt>
        <dd>
          <Link className="mono" href={machineHref(machineId)}>
            {machineId}
          </Link>{' '}
          <Link className="soft" href={listOf('/operations', `machine_id = ${quoted(machineId)}`)}>
            its operations
          </Link>
        </dd>
        <dt>Started by</dt>
        <dd>
          <Link href={listOf('/operations', `started_by = ${quoted(startedBy)}`)}>{startedBy}</Link>
        </dd>
        <dt>Request id</dt>
        <dd className="mono">{requestId}</dd>
        <dt>Plan</dt>
        <dd>
          {planId === '' ? (
            <span className="soft">the server’s own recipe</span>
          ) : (
            <Link href="/plans">{planId}</Link>
          )}
        </dd>
        {Object.entries(params).map(([name, value]) => (
          <div key={name} className="pair">
            <dt className="mono">{name}</dt>
            <dd className="mono">{value}</dd>
          </div>
        ))}
        <dt>Created</dt>
        <dd>
          <Age at={createdAt} />
        </dd>
        <dt>Started</dt>
        <dd>
          {startedAt ? (
            <>
              <Age at={startedAt} />{' '}
              <span className="soft">
                after <Duration from={createdAt} to={startedAt} />
              </span>
            </>
          ) : (
            <span className="soft">not yet</span>
          )}
        </dd>
        <dt>Finished</dt>
        <dd>
          {finishedAt ? (
            <>
              <Age at={finishedAt} />{' '}
              <span className="soft">
                after <Duration from={startedAt ?? createdAt} to={finishedAt} />
              </span>
            </>
          ) : startedAt ? (
            <span className="soft">
              running for <Duration from={startedAt} to={undefined} />
            </span>
          ) : (
            <span className="soft">not yet</span>
          )}
        </dd>
      </dl>
    </Panel>
  );
}
