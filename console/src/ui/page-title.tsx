import { type ReactNode, useEffect, useRef } from 'react';

/** The heading takes the focus when its page opens, so that keyboard and screen reader users start there. */
export function PageTitle({
  title,
  children,
  actions,
}: {
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Ingot`;
  }, [title]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another title is another page
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <div className="page-head">
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
      {actions && <div className="actions">{actions}</div>}
    </div>
  );
}
