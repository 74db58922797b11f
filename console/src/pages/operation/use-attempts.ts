import { useQuery } from '@tanstack/react-query';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fleet } from '../../api/clients.ts';
import type { OperationView } from '../../operation-view.ts';
import { quoted } from '../../pages.ts';
import { msOf } from '../../ui/time.tsx';
import { type Attempt, type AttemptEvent, attemptsOf } from './attempts.ts';

const MOST = 500;
const NONE: ReadonlyMap<string, readonly Attempt[]> = new Map();

/** Asked for where a step was tried more than once: others are their bars. */
export function useAttempts({ operationId, message: { steps } }: OperationView) {
  const retries = steps.reduce((sum, { retryCount }) => sum + retryCount, 0);
  const asked = useQuery({
    queryKey: ['operation', operationId, 'attempts', retries],
    queryFn: async () => {
      // Of the progress, the starts and failures of attempts: the rest are percentages.
      const filter = `operation_id = ${quoted(operationId)} AND (kind = step OR comment = "attempt *")`;
      const { events } = await fleet.listEvents({ filter, pageSize: MOST });
      return attemptsOf(events.map(attemptEvent));
    },
    enabled: retries > 0,
    placeholderData: (known) => known,
  });
  return asked.data ?? NONE;
}

function attemptEvent({ at, kind, subject, to, comment, metadata }: Event): AttemptEvent {
  return { at: msOf(at) ?? 0, kind, step: subject, to, comment, metadata };
}
