/** Every operation, newest first. */
import '../../styles/operations.css';
import { Code, ConnectError } from '@connectrpc/connect';
import { useCallback } from 'react';
import { useLocation } from 'wouter';
import { failureOf } from '../../api/failure.ts';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { operationHref } from '../../pages.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { FilterBox } from '../../ui/filter-box.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { useNow } from '../../ui/time.tsx';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { askedFilter, isShown, SHOWN, startOfDay } from './operation-list.ts';
import { OperationsTable } from './operations-table.tsx';
import { useOperations } from './use-operations.ts';

export function OperationsPage() {
  const [filter, setFilter] = useUrlParam('filter');
  const [shownParam, setShown] = useUrlParam('show');
  const [since, setSince] = useUrlParam('since');
  const [, navigate] = useLocation();
  const now = useNow();
  const shown = isShown(shownParam) ? shownParam : null;
  const isToday = since === 'today';
  const asked = askedFilter({ filter, shown, since: isToday ? startOfDay(now) : null });
  const { list, rows, news, hasMoreNews, refresh } = useOperations(asked);
  const { fetchNextPage, hasNextPage, isFetchingNextPage, isFetchNextPageError } = list;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage();
  }, [fetchNextPage, hasNextPage, isFetchingNextPage, isFetchNextPageError]);
  useOfferActions([
    { text: 'Show all operations', disabledBecause: '', run: () => setShown('') },
    ...Object.entries(SHOWN).map(([name, { text }]) => ({
      text: `Show operations: ${text.toLowerCase()}`,
      disabledBecause: '',
      run: () => setShown(name),
    })),
  ]);
  const isFiltered = asked !== '';
  const isFilterInvalid = list.isError && ConnectError.from(list.error).code === Code.InvalidArgument;
  return (
    <>
      <PageTitle title="Operations" />
      <FilterBox
        label="Filter operations"
        value={filter}
        onApply={setFilter}
        placeholder='type = REIMAGE AND machine_id = "rack-7*" AND started_by = "*:anna"'
        fault={isFilterInvalid ? failureOf(list.error).message : ''}
      />
      <div className="ops-quick" role="toolbar" aria-label="Quick filters">
        <Button kind="quiet" pressed={shown === null} onClick={() => setShown('')}>
          All
        </Button>
        {Object.entries(SHOWN).map(([name, { text }]) => (
          <Button key={name} kind="quiet" pressed={shown === name} onClick={() => setShown(name)}>
            {text}
          </Button>
        ))}
        <Button kind="quiet" pressed={isToday} onClick={() => setSince(isToday ? '' : 'today')}>
          Today
        </Button>
        <span className="gap" />
        <span role="status">
          {news > 0 && (
            <Button onClick={refresh}>
              Show {news}
              {hasMoreNews ? '+' : ''} new
            </Button>
          )}
        </span>
      </div>
      <section className="panel fills ops-panel" aria-label="Operations, newest first">
        {list.isPending && <Loading lines={10} />}
        {isFilterInvalid && <Empty title="Invalid filter">Fix the filter above.</Empty>}
        {list.isError && !isFilterInvalid && rows.length === 0 && (
          <Failed what="Failed to load operations" error={list.error} onRetry={() => void list.refetch()} />
        )}
        {list.isSuccess && rows.length === 0 && (
          <Empty title={isFiltered ? 'No results' : 'No operations yet'}>
            {isFiltered
              ? 'Change the filter, or choose All.'
              : 'Select machines on the Machines page to start one.'}
          </Empty>
        )}
        {rows.length > 0 && (
          <OperationsTable
            operations={rows}
            onOpen={({ operationId }) => navigate(operationHref(operationId))}
            onEnd={more}
            foot={
              <p className="list-foot soft">
                {isFetchNextPageError ? (
                  <Button onClick={() => void fetchNextPage()}>Failed to load more. Retry</Button>
                ) : hasNextPage ? (
                  `${rows.length} shown, loading more…`
                ) : (
                  `All ${rows.length} shown`
                )}
              </p>
            }
          />
        )}
      </section>
    </>
  );
}
