/** Other machines that failed in the same way, and one rollout that tries all of them again. */
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import { isTrue } from '../../../../src/domain/condition/condition.ts';
import type { OperationType } from '../../../../src/domain/operation/operation-type.ts';
import { operations } from '../../api/clients.ts';
import { countText } from '../../count-text.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import type { OperationView } from '../../operation-view.ts';
import { listOf, quoted } from '../../pages.ts';
import { Button } from '../../ui/button.tsx';
import { readMachines } from '../machines/read-machines.ts';
import type { Verb } from '../rollout-draft/step-verbs.ts';

const RolloutDrawer = lazy(() =>
  import('../rollout-draft/rollout-drawer.tsx').then((m) => ({ default: m.RolloutDrawer })),
);

const MOST = 200;

/** What a rollout does again; other types have parameters that belong to one machine. */
const VERBS: Partial<Record<OperationType, Verb>> = {
  REBOOT: 'reboot',
  REIMAGE: 'reimage',
  ENTER_MAINTENANCE: 'enter-maintenance',
  EXIT_MAINTENANCE: 'exit-maintenance',
};

function sameErrorFilter({ type, message: { error } }: OperationView): string {
  return `type = ${type} AND phase = FAILED AND error.code = ${quoted(error?.code ?? '')}`;
}

/** The machines that still need someone because of it, this one first. */
async function readAffected(view: OperationView, signal: AbortSignal): Promise<string[]> {
  const filter = sameErrorFilter(view);
  const { operations: found } = await operations.listOperations({ filter, pageSize: MOST }, { signal });
  const ids = [...new Set([view.machineId, ...found.map(({ machineId }) => machineId)])];
  const machines = await readMachines(ids, signal);
  const waiting = new Set(
    machines
      .filter(({ conditions }) => isTrue(conditions, 'NeedsIntervention'))
      .map(({ machineId }) => machineId),
  );
  return ids.filter((id) => waiting.has(id));
}

export function SameErrorPanel({ view }: { view: OperationView }) {
  const verb = VERBS[view.type];
  const isFailed = view.phase === 'FAILED' && view.message.error !== undefined;
  const [isOpen, setOpen] = useState(false);
  const forbidden = useForbidden();
  const affected = useQuery({
    queryKey: ['fleet-wide', 'same-error', view.operationId],
    queryFn: ({ signal }) => readAffected(view, signal),
    enabled: isFailed,
  });
  const ids = affected.data ?? [];
  const others = ids.filter((id) => id !== view.machineId).length;
  if (!isFailed || others === 0) return null;
  const { imageRef } = imageOf(view);
  return (
    <section className="same-error" aria-label="The same error elsewhere">
      <span>
        <strong>{others} more with this error</strong>{' '}
        <Link href={listOf('/operations', sameErrorFilter(view))}>Show them</Link>
      </span>
      {verb && (
        <Button disabledBecause={forbidden('operator', METHODS.createRollout)} onClick={() => setOpen(true)}>
          {`Retry all ${countText(ids.length)}`}
        </Button>
      )}
      {isOpen && verb && (
        <Suspense fallback={null}>
          <RolloutDrawer
            verbs={[verb]}
            values={verb === 'reimage' && imageRef !== '' ? { image_ref: imageRef } : {}}
            targets={[{ kind: 'ids', machineIds: ids }]}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </section>
  );
}

/** The image that was asked for: the others get the same. */
function imageOf({ message: { params } }: OperationView): { imageRef: string } {
  return { imageRef: params.image_ref ?? params.imageRef ?? '' };
}
