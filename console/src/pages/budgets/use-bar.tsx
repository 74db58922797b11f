export interface UseBarProps {
  readonly title: string;
  /** The group that is meant; empty: there is one group. */
  readonly group: string;
  readonly used: number;
  readonly limit: number;
}

/** How much of a limit is used; the text says it too. */
export function UseBar({ title, group, used, limit }: UseBarProps) {
  const isFull = used >= limit;
  const percent = limit === 0 ? 100 : Math.min(100, (100 * used) / limit);
  return (
    <div className={`use-bar tone-${isFull ? 'orange' : 'blue'}`}>
      <span className="wraps">
        {title}
        {group !== '' && <span className="soft"> · {group}</span>}
      </span>
      <span className="numeric">
        {used.toLocaleString('en')} of {limit.toLocaleString('en')}
        {isFull && <strong> · full</strong>}
      </span>
      <div className="progress" aria-hidden="true">
        <div style={{ width: `${percent}%` }} />
      </div>
    </div>
  );
}
