import type { MachineStatus } from '../../../src/gen/baremetal/v2/machine_pb.ts';

/** Whether the machine is in service. If not, the reason code, with the full reason as a tooltip; – for one that never was. */
export function AvailableBadge({ status }: { status: MachineStatus | undefined }) {
  if (status?.available) return <span className="badge tone-green">available</span>;
  if (status?.available === undefined) return <span className="soft">–</span>;
  return (
    <span className="badge tone-yellow" title={`Unavailable because ${status.unavailableMessage}`}>
      {status.unavailableReason.replaceAll('_', ' ')}
    </span>
  );
}
