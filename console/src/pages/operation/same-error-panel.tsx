/** Other machines that failed in the same way, and one rollout that tries all of them again. */
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { operations } from '../../api/clients.ts';
import { type OperationView, operationView } from '../../operation-view.ts';
import { listOf, quoted } from '../../pages.ts';
import { RetryAll, stillFailed } from './retry-all.tsx';
import { failureGroups, failureKey, imageOf } from './same-failure.ts';

const MOST = 200;

/** What the server can tell of it; the step and the message are compared here. */
function sameErrorFilter({ type, message: { error, params } }: OperationView): string {
  const image = imageOf(params);
  return [
    `type = ${type} AND phase = FAILED AND error.code = ${quoted(error?.code ?? '')}`,
    ...(image === '' ? [] : [`params.image_ref = ${quoted(image)}`]),
  ].join(' AND ');
}

/** The machines that still need someone because of it, this one first. */
async function readAffected(view: OperationView, signal: AbortSignal): Promise<string[]> {
  const filter = sameErrorFilter(view);
  const { operations: found } = await operations.listOperations({ filter, pageSize: MOST }, { signal });
  const key = failureKey(view);
  const same = failureGroups(found.map(operationView)).find(({ newest }) => failureKey(newest) === key);
  const ids = [...new Set([view.machineId, ...(same?.machineIds ?? [])])];
  const waiting = await stillFailed(ids, signal);
  return ids.filter((id) => waiting.has(id));
}

export function SameErrorPanel({ view }: { view: OperationView }) {
  const isFailed = view.phase === 'FAILED' && view.message.error !== undefined;
  const affected = useQuery({
    queryKey: ['fleet-wide', 'same-error', view.operationId],
    queryFn: ({ signal }) => readAffected(view, signal),
    enabled: isFailed,
  });
  const ids = affected.data ?? [];
  const others = ids.filter((id) => id !== view.machineId).length;
  if (!isFailed || others === 0) return null;
  return (
    <section className="same-error" aria-label="The same error elsewhere">
      <span>
        <strong>{others} more with this error</strong>{' '}
        <Link href={listOf('/operations', sameErrorFilter(view))}>Show them</Link>
      </span>
      <RetryAll of={view} machineIds={ids} text="whole" />
    </section>
  );
}
