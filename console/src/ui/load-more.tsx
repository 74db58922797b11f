import type { ReactNode } from 'react';
import { Button } from './button.tsx';

export interface LoadMoreProps {
  readonly list: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => Promise<unknown>;
  };
  /** A count, shown next to the button. */
  readonly children?: ReactNode;
}

/** The end of a paginated list. */
export function LoadMore({ list, children }: LoadMoreProps) {
  if (!list.hasNextPage) return null;
  return (
    <div className="list-foot">
      <Button
        onClick={() => void list.fetchNextPage()}
        disabledBecause={list.isFetchingNextPage ? 'Loading…' : ''}
      >
        Load more
      </Button>
      {children && <span className="soft numeric">{children}</span>}
    </div>
  );
}
