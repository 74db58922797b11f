import type { MachineStatus } from '../../../src/gen/baremetal/v2/machine_pb.ts';

/** Whether workloads can be scheduled on the machine. If not, the reason code, with the full reason as a tooltip. */
export function SchedulableBadge({ status }: { status: MachineStatus | undefined }) {
  if (status?.schedulable) return <span className="badge tone-green">schedulable</span>;
  const reason = status?.unschedulableReason ?? '';
  return (
    <span
      className="badge tone-yellow"
      title={`Not schedulable because ${status?.unschedulableMessage ?? ''}`}
    >
      {reason.replaceAll('_', ' ') || 'not schedulable'}
    </span>
  );
}
