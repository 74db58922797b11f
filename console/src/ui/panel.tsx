import { type ReactNode, useId } from 'react';

export interface PanelProps {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  /** `none` for tables, which extend to the panel's edges. */
  readonly padding?: 'usual' | 'none';
}

export function Panel({ title, actions, children, padding = 'usual' }: PanelProps) {
  const id = useId();
  return (
    <section className="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {actions && <div className="actions">{actions}</div>}
      </header>
      <div className={padding === 'none' ? 'body flush' : 'body'}>{children}</div>
    </section>
  );
}
