/** What was requested, by whom and when. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { OperationView } from '../../operation-view.ts';
import { listOf, machineHref, quoted, rolloutHref } from '../../pages.ts';
import { Age, Duration } from '../../ui/time.tsx';

export function Facts({ view }: { view: OperationView }) {
  const { message, machineId } = view;
  const { createdAt, startedAt, finishedAt, startedBy, requestId, planId, params, rolloutId } = message;
  return (
    <dl className="op-facts">
      <Fact name="Machine">
        <Link className="mono" href={machineHref(machineId)}>
          {machineId}
        </Link>{' '}
        (<Link href={listOf('/operations', `machine_id = ${quoted(machineId)}`)}>all operations</Link>)
      </Fact>
      {Object.entries(params).map(([name, value]) => (
        <Fact key={name} name={name}>
          <span className="mono">{value}</span>
        </Fact>
      ))}
      <Fact name="Started by">
        <Link href={listOf('/operations', `started_by = ${quoted(startedBy)}`)}>{startedBy}</Link>
      </Fact>
      <Fact name="Request id">
        <span className="mono">{requestId}</span>
      </Fact>
      <Fact name="Plan">{planId === '' ? 'built-in' : <Link href="/plans">{planId}</Link>}</Fact>
      {rolloutId !== '' && (
        <Fact name="Rollout">
          <Link className="mono" href={rolloutHref(rolloutId)}>
            {rolloutId}
          </Link>
        </Fact>
      )}
      <Fact name="Started">
        {startedAt ? (
          <>
            <Age at={startedAt} />, after <Duration from={createdAt} to={startedAt} />
          </>
        ) : (
          'not yet'
        )}
      </Fact>
      <Fact name={finishedAt || !startedAt ? 'Finished' : 'Running for'}>
        {finishedAt ? (
          <>
            <Age at={finishedAt} />, after <Duration from={startedAt ?? createdAt} to={finishedAt} />
          </>
        ) : startedAt ? (
          <Duration from={startedAt} to={undefined} />
        ) : (
          'not yet'
        )}
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
