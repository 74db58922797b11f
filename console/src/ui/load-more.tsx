import type { ReactNode } from 'react';
import { Button } from './button.tsx';

export interface LoadMoreProps {
  readonly list: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => Promise<unknown>;
  };
  readonly text: string;
  /** How much there is, beside the button. */
  readonly children?: ReactNode;
}

/** The end of a list that comes in pages. */
export function LoadMore({ list, text, children }: LoadMoreProps) {
  if (!list.hasNextPage) return null;
  return (
    <div className="list-foot">
      <Button
        onClick={() => void list.fetchNextPage()}
        disabledBecause={list.isFetchingNextPage ? 'The server is being asked.' : ''}
      >
        {text}
      </Button>
      {children && <span className="soft numeric">{children}</span>}
    </div>
  );
}
