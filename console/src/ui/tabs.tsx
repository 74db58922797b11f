/** Tabs with the keys that screen readers announce: arrows move, and the pane is that of the chosen one. */
import { type ReactNode, useId } from 'react';

export interface TabsProps<Tab extends string> {
  readonly label: string;
  readonly tabs: Readonly<Record<Tab, string>>;
  readonly shown: Tab;
  readonly onShow: (tab: Tab) => void;
  readonly children: ReactNode;
}

export function Tabs<Tab extends string>({ label, tabs, shown, onShow, children }: TabsProps<Tab>) {
  const id = useId();
  const names = Object.keys(tabs) as Tab[];
  const step = (from: Tab, by: number) => {
    const next = names[(names.indexOf(from) + by + names.length) % names.length];
    if (next === undefined) return;
    onShow(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label}>
        {names.map((tab) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`${id}-${tab}`}
            aria-selected={tab === shown}
            aria-controls={`${id}-shown`}
            tabIndex={tab === shown ? 0 : -1}
            onClick={() => onShow(tab)}
            onKeyDown={(event) => {
              if (event.key === 'ArrowLeft') step(tab, -1);
              if (event.key === 'ArrowRight') step(tab, 1);
            }}
          >
            {tabs[tab]}
          </button>
        ))}
      </div>
      <div className="tab-pane" role="tabpanel" id={`${id}-shown`} aria-labelledby={`${id}-${shown}`}>
        {children}
      </div>
    </>
  );
}
