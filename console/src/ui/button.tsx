import { type ReactNode, useId } from 'react';

export interface ButtonProps {
  readonly children: ReactNode;
  readonly onClick?: () => void;
  readonly kind?: 'plain' | 'primary' | 'danger' | 'danger-primary' | 'quiet';
  readonly type?: 'button' | 'submit';
  /** Why it can't be pressed, and what to do first. Empty or absent: it can. */
  readonly disabledBecause?: string | undefined;
  /** For buttons whose text does not say it. */
  readonly label?: string;
  readonly pressed?: boolean;
  readonly autoFocus?: boolean;
}

const CLASSES = {
  plain: 'button',
  primary: 'button primary',
  danger: 'button danger',
  'danger-primary': 'button danger primary',
  quiet: 'button quiet',
} as const satisfies Record<NonNullable<ButtonProps['kind']>, string>;

/** A button that can't be pressed stays where the keyboard reaches it, so that everybody can learn why. */
export function Button({
  children,
  onClick,
  kind = 'plain',
  type = 'button',
  disabledBecause = '',
  label,
  pressed,
  autoFocus,
}: ButtonProps) {
  const reasonId = useId();
  const isDisabled = disabledBecause !== '';
  const button = (
    <button
      type={isDisabled ? 'button' : type}
      className={CLASSES[kind]}
      aria-label={label}
      aria-pressed={pressed}
      aria-disabled={isDisabled || undefined}
      aria-describedby={isDisabled ? reasonId : undefined}
      // biome-ignore lint/a11y/noAutofocus: a dialog says itself where its focus begins
      autoFocus={autoFocus}
      onClick={isDisabled ? undefined : onClick}
    >
      {children}
    </button>
  );
  if (!isDisabled) return button;
  return (
    <span className="with-reason">
      {button}
      <span className="reason" role="tooltip" id={reasonId}>
        {disabledBecause}
      </span>
    </span>
  );
}
