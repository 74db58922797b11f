import { type ReactNode, useId } from 'react';

export interface ButtonProps {
  readonly children: ReactNode;
  readonly onClick?: () => void;
  readonly kind?: 'plain' | 'primary' | 'danger' | 'danger-primary' | 'quiet';
  readonly type?: 'button' | 'submit';
  /** Why it is disabled and what to do first. Empty or absent: it is enabled. */
  readonly disabledBecause?: string | undefined;
  /** The accessible name, for buttons whose text does not give it. */
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

/** A disabled button stays focusable, so that keyboard and screen reader users can read the reason. */
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
      // biome-ignore lint/a11y/noAutofocus: a dialog decides where its focus starts
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
