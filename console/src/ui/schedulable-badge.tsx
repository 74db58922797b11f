import type { MachineStatus } from '../../../src/gen/baremetal/v2/machine_pb.ts';

/** May work be placed on it? If not, the reason in a word, and in words for whoever points at it. */
export function SchedulableBadge({ status }: { status: MachineStatus | undefined }) {
  if (status?.schedulable) return <span className="badge tone-green">schedulable</span>;
  const reason = status?.unschedulableReason ?? '';
  return (
    <span
      className="badge tone-yellow"
      title={`Not schedulable, because ${status?.unschedulableMessage ?? ''}`}
    >
      {reason.replaceAll('_', ' ') || 'not schedulable'}
    </span>
  );
}
