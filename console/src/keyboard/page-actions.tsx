/** The actions of the current page. The page registers them, and the palette lists them. */
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';

export interface PageAction {
  readonly text: string;
  /** Empty: it is available. */
  readonly disabledBecause: string;
  readonly run: () => void;
}

/** The actions of each component of the page that has some, in the order in which they were mounted. */
type Registry = Map<symbol, readonly PageAction[]>;

const PageActionContext = createContext<Registry | null>(null);

export function PageActionProvider({ children }: { children: ReactNode }) {
  const [registry] = useState<Registry>(() => new Map());
  return <PageActionContext value={registry}>{children}</PageActionContext>;
}

function useRegistry(): Registry {
  const registry = useContext(PageActionContext);
  if (!registry) throw new Error('used outside of PageActionProvider');
  return registry;
}

export function usePageActions(): readonly PageAction[] {
  return [...useRegistry().values()].flat();
}

/** Lists these actions in the palette while the component is mounted. */
export function useOfferActions(actions: readonly PageAction[]): void {
  const registry = useRegistry();
  const [owner] = useState(() => Symbol('actions'));
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    registry.set(owner, latest.current);
  });
  useEffect(() => () => void registry.delete(owner), [registry, owner]);
}
