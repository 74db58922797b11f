import { messageHeadline } from '../../../src/client/message-headline.ts';
import type { Machine } from '../../../src/gen/baremetal/v2/machine_pb.ts';
import { useNow } from './time.tsx';

/** The one text that says what a machine is and what is wrong with it, in one colour. */
export function HeadlineBadge({ machine }: { machine: Machine }) {
  const { text, colour, notes } = messageHeadline(machine, useNow());
  const [state = '', ...rest] = text.split(' · ');
  return (
    <span className={`headline tone-${colour}`} title={notes.join('\n') || undefined}>
      <strong>{state}</strong>
      {rest.length > 0 && <span>{rest.join(' · ')}</span>}
    </span>
  );
}
