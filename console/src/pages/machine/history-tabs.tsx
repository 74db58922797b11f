import { useId } from 'react';
import { useUrlParam } from '../../ui/use-url-param.ts';
import { HistoryPanel } from './history-panel.tsx';
import { OperationsPanel } from './operations-panel.tsx';
import type { useOperations } from './use-operations.ts';

const TABS = { history: 'History', operations: 'Operations' } as const;
type Tab = keyof typeof TABS;

export interface HistoryTabsProps {
  readonly machineId: string;
  readonly operations: ReturnType<typeof useOperations>;
}

/** The machine's events and operations. */
export function HistoryTabs({ machineId, operations }: HistoryTabsProps) {
  const [text, setText] = useUrlParam('tab');
  const id = useId();
  const shown: Tab = text === 'operations' ? 'operations' : 'history';
  const choose = (tab: Tab) => setText(tab === 'history' ? '' : tab);
  return (
    <section className="panel history-tabs">
      <div className="tabs" role="tablist" aria-label="History and operations">
        {(Object.keys(TABS) as Tab[]).map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`${id}-${tab}`}
            aria-selected={tab === shown}
            aria-controls={`${id}-shown`}
            tabIndex={tab === shown ? 0 : -1}
            onClick={() => choose(tab)}
            onKeyDown={(event) => {
              if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
              const other: Tab = tab === 'history' ? 'operations' : 'history';
              choose(other);
              document.getElementById(`${id}-${other}`)?.focus();
            }}
          >
            {TABS[tab]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-shown`} aria-labelledby={`${id}-${shown}`}>
        {shown === 'history' ? <HistoryPanel machineId={machineId} /> : <OperationsPanel list={operations} />}
      </div>
    </section>
  );
}
