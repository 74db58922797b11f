/**
 * The matching operations, newest first. Rows do not move: changes are applied in place, and new operations are only
 * counted until the user asks to see them.
 */
import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import type { Event } from '../../../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { Operation } from '../../../../src/gen/baremetal/v2/operation_pb.ts';
import type { ListOperationsResponse } from '../../../../src/gen/baremetal/v2/operation_service_pb.ts';
import { operations } from '../../api/clients.ts';
import { useEvents } from '../../live/live.tsx';
import { filtersFor, patched, withoutRepeats } from './operation-list.ts';

const PAGE = 100;
/** How many of the newest operations are checked for new ones. */
const HEAD = 50;
/** Rows that change within this time are fetched in one request. */
const PATCH_MS = 700;

type Pages = InfiniteData<ListOperationsResponse, string>;

export function useOperations(filter: string) {
  const queries = useQueryClient();
  const queryKey = useMemo(() => ['operations', filter], [filter]);
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => operations.listOperations({ filter, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
    refetchInterval: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const rows = useMemo(
    () => withoutRepeats(list.data?.pages.flatMap((page) => page.operations) ?? []),
    [list.data],
  );
  const known = useMemo(() => new Set(rows.map(({ operationId }) => operationId)), [rows]);

  const patch = useCallback(
    (fresh: readonly Operation[]) =>
      queries.setQueryData<Pages>(
        queryKey,
        (before) => before && { ...before, pages: patched(before.pages, fresh) },
      ),
    [queries, queryKey],
  );

  const head = useQuery({
    queryKey: ['fleet-wide', 'operations', filter],
    queryFn: async () => (await operations.listOperations({ filter, pageSize: HEAD })).operations,
    enabled: list.isSuccess,
  });
  useEffect(() => {
    if (head.data) patch(head.data);
  }, [head.data, patch]);
  const news = head.data?.filter(({ operationId }) => !known.has(operationId)).length ?? 0;

  usePatches(known, patch);

  const refresh = useCallback(() => {
    queries.setQueryData<Pages>(
      queryKey,
      (before) => before && { pages: before.pages.slice(0, 1), pageParams: before.pageParams.slice(0, 1) },
    );
    void list.refetch();
  }, [queries, queryKey, list.refetch]);

  return { list, rows, news, hasMoreNews: news === HEAD, refresh };
}

/** Fetches the rows that events mention, batched. */
function usePatches(known: ReadonlySet<string>, patch: (fresh: readonly Operation[]) => void): void {
  const latest = useRef({ known, patch });
  latest.current = { known, patch };
  const waiting = useRef(new Set<string>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  const send = useCallback(async () => {
    timer.current = undefined;
    const ids = [...waiting.current];
    waiting.current.clear();
    const answers = await Promise.allSettled(
      filtersFor(ids).map((filter) => operations.listOperations({ filter, pageSize: ids.length })),
    );
    // A row that could not be fetched is updated by the next event, or when the stream is back.
    for (const answer of answers)
      if (answer.status === 'fulfilled') latest.current.patch(answer.value.operations);
  }, []);
  useEvents(
    useCallback(
      (events: readonly Event[]) => {
        for (const { operationId } of events)
          if (latest.current.known.has(operationId)) waiting.current.add(operationId);
        if (waiting.current.size > 0) timer.current ??= setTimeout(() => void send(), PATCH_MS);
      },
      [send],
    ),
  );
}
