/** One button that tries the same work again on every machine where it failed in the same way, as a rollout. */
import { lazy, Suspense, useState } from 'react';
import { isTrue } from '../../../../src/domain/condition/condition.ts';
import type { OperationType } from '../../../../src/domain/operation/operation-type.ts';
import { countText } from '../../count-text.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import type { OperationView } from '../../operation-view.ts';
import { Button } from '../../ui/button.tsx';
import { readMachines } from '../machines/read-machines.ts';
import type { Verb } from '../rollout-draft/step-verbs.ts';
import { imageOf } from './same-failure.ts';

const RolloutDrawer = lazy(() =>
  import('../rollout-draft/rollout-drawer.tsx').then((m) => ({ default: m.RolloutDrawer })),
);

/** What a rollout does again; other types have parameters that belong to one machine. */
const VERBS: Partial<Record<OperationType, Verb>> = {
  REBOOT: 'reboot',
  REIMAGE: 'reimage',
  ENTER_MAINTENANCE: 'enter-maintenance',
  EXIT_MAINTENANCE: 'exit-maintenance',
};

/** Those that still need someone: the others were retried, or given up. */
export async function stillFailed(ids: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const machines = await readMachines(ids, signal);
  const waiting = machines.filter(({ conditions }) => isTrue(conditions, 'NeedsIntervention'));
  return new Set(waiting.map(({ machineId }) => machineId));
}

interface RetryAllProps {
  readonly of: OperationView;
  readonly machineIds: readonly string[];
  /** `short` where the number of machines stands beside it. */
  readonly text: 'short' | 'whole';
}

export function RetryAll({ of, machineIds, text }: RetryAllProps) {
  const [isOpen, setOpen] = useState(false);
  const forbidden = useForbidden();
  const verb = VERBS[of.type];
  if (!verb) return null;
  const image = imageOf(of.message.params);
  const whole = `Retry all ${countText(machineIds.length)}`;
  return (
    <>
      <Button
        label={whole}
        disabledBecause={forbidden('operator', METHODS.createRollout)}
        onClick={() => setOpen(true)}
      >
        {text === 'whole' ? whole : 'Retry all'}
      </Button>
      {isOpen && (
        <Suspense fallback={null}>
          <RolloutDrawer
            verbs={[verb]}
            values={verb === 'reimage' && image !== '' ? { image_ref: image } : {}}
            targets={[{ kind: 'ids', machineIds }]}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  );
}
