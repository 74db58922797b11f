import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { operations } from '../../api/clients.ts';
import { useEvents } from '../../live/live.tsx';
import { operationView } from '../../operation-view.ts';
import { quoted } from '../../pages.ts';

const PAGE = 25;
/** Progress updates are events too, but only changes of an operation or a step refresh the list. */
const MOVES: readonly string[] = ['operation', 'step'];

export function useOperations(machineId: string) {
  const queries = useQueryClient();
  const onEvents = useCallback(
    (events: readonly Event[]) => {
      if (events.some((event) => event.machineId === machineId && MOVES.includes(event.kind)))
        void queries.invalidateQueries({ queryKey: ['operations-of', machineId] });
    },
    [queries, machineId],
  );
  useEvents(onEvents);
  return useInfiniteQuery({
    queryKey: ['operations-of', machineId],
    queryFn: ({ pageParam }) =>
      operations.listOperations({
        filter: `machine_id = ${quoted(machineId)}`,
        pageSize: PAGE,
        pageToken: pageParam,
      }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
    select: ({ pages, pageParams }) => ({
      pages: pages.map((page) => page.operations.map(operationView)),
      pageParams,
    }),
  });
}
