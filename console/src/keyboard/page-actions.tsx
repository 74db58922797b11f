/** The actions of the current page. The page registers them, and the palette lists them. */
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react';

export interface PageAction {
  readonly text: string;
  /** Empty: it is available. */
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

/** Lists these actions in the palette while the component is mounted. */
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
