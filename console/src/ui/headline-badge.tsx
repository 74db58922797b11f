import type { Machine } from '../../../src/gen/baremetal/v2/machine_pb.ts';
import { headlineOf } from '../headline-of.ts';

export function HeadlineBadge({ machine }: { machine: Machine }) {
  const { state, note, colour } = headlineOf(machine);
  return (
    <span className={`headline tone-${colour}`}>
      <strong>{state}</strong>
      {note !== '' && <span>{note}</span>}
    </span>
  );
}
