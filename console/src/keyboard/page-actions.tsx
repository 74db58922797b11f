/** What can be done on the page that is shown; the page says so, and the palette offers it. */
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';

export interface PageAction {
  readonly text: string;
  /** Empty: it can be done. */
  readonly disabledBecause: string;
  readonly run: () => void;
}

interface Registry {
  actions: readonly PageAction[];
}

const PageActionContext = createContext<Registry | null>(null);

export function PageActionProvider({ children }: { children: ReactNode }) {
  const [registry] = useState<Registry>(() => ({ actions: [] }));
  return <PageActionContext value={registry}>{children}</PageActionContext>;
}

function useRegistry(): Registry {
  const registry = useContext(PageActionContext);
  if (!registry) throw new Error('used outside of PageActionProvider');
  return registry;
}

export function usePageActions(): readonly PageAction[] {
  return useRegistry().actions;
}

/** Offers these for as long as the component is shown. */
export function useOfferActions(actions: readonly PageAction[]): void {
  const registry = useRegistry();
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    registry.actions = latest.current;
  });
  useEffect(
    () => () => {
      registry.actions = [];
    },
    [registry],
  );
}
