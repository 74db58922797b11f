import { z } from 'zod';
import { erasureText, OVERWRITES } from '../../domain/install/erasure.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { Observation, StepContext } from '../../engine/step-handler.ts';
import { checkMaintenance } from '../hardware/raid.ts';
import type { StepKind } from '../step-kind.ts';
import { eraseByBmc } from './erase-by-bmc.ts';
import { type EraseWork, eraseByInstaller, type StartedErasing } from './erase-step.ts';

const config = z.object({
  by: z.enum(['installer', 'bmc']).default('installer'),
  overwrite: z.enum(OVERWRITES).default('ends'),
});
type Config = z.output<typeof config>;

/** Erases every disk of a machine, by its installer or its BMC, and keeps the evidence. What nothing proves is never taken for done. */
export const eraseDisks: StepKind<Config, 'erasing' | 'drives'> = {
  kind: 'erase-disks',
  needs: ({ by }) => (by === 'bmc' ? ['drives'] : ['erasing']),
  config: config as z.ZodType<Config>,
  title: 'Erasing disks',
  doneTitle: 'Disks erased',
  complete: (request, machine) => {
    checkMaintenance(machine, 'erase-disks');
    return request;
  },
  canUndo: true,
  handler: ({ by, overwrite }, environment) =>
    by === 'bmc' ? eraseByBmc(environment) : eraseByInstaller(WORK, overwrite, environment),
};

const WORK: EraseWork = {
  waitsFor: 'erasing',
  keepsEvidence: true,
  async judge(context, erasing, call, { evidence }) {
    switch (erasing.state) {
      case 'erasing':
        // The order of the step before is taken over first, so that a failure counts for this one.
        if (erasing.key !== call.key) return { seen: 'absent', next: true };
        await logProgress(context, erasing);
        return {
          seen: 'under_way',
          reason: erasing.detail,
          pollAfterMs: erasing.pollAfterMs,
          progress: erasing.progress,
        };
      case 'unproven':
        return {
          seen: 'unobservable',
          failure: { class: 'needs_human', code: 'ERASE_UNPROVEN', message: erasing.message },
        };
      case 'erased':
        if (!(await evidence.isRecorded(call))) return { seen: 'absent', next: true };
        return erased(context, erasing);
    }
  },
};

/** Each percentage and each remark once, however often it is polled. */
async function logProgress(
  context: StepContext,
  { progress, detail }: Extract<StartedErasing, { state: 'erasing' }>,
): Promise<void> {
  if (context.memo.detail === detail && context.memo.progress === progress) return;
  if (context.memo.detail !== detail) context.log(detail);
  if (context.memo.progress !== progress) context.log(`Progress: ${progress}%`);
  await context.save({ ...context.memo, detail, progress });
}

function erased(
  context: StepContext,
  { erasure }: Extract<StartedErasing, { state: 'erased' }>,
): Observation<MachineChange> {
  for (const disk of erasure.disks) {
    const size = disk.size_bytes === null ? '' : `, ${disk.size_bytes} bytes`;
    context.log(
      `${disk.name}: ${disk.result} by ${disk.method} (model ${disk.model || '-'}, serial ${disk.serial || '-'}${size})`,
    );
    if (disk.verified !== '') context.log(`${disk.name}: verified: ${disk.verified}`);
    if (disk.not_done !== '') context.log(`${disk.name}: not done: ${disk.not_done}`, 'stderr');
  }
  for (const { name, reason } of erasure.skipped) context.log(`${name}: not touched: ${reason}`, 'stderr');
  const message = erasureText(erasure);
  const evidence = { outcome: erasure.outcome, disks: erasure.disks, skipped: erasure.skipped };
  return {
    seen: 'done',
    message,
    change: {
      // A node that reported has moved by itself.
      install: {
        to: 'retired',
        owner: 'system',
        from: ['deprovisioning'],
        comment: message,
        metadata: { erase: evidence },
      },
      conditions: [
        { type: 'Provisioned', status: false, reason: 'Erased', message },
        { type: 'InCustomerCluster', status: false, reason: 'Erased', message },
        { type: 'Retired', status: true, reason: 'Decommissioned', message },
      ],
    },
  };
}
