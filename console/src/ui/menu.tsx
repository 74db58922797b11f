/** A button that opens a small pane below itself. Escape and a click elsewhere close it: the browser's own popover. */
import { type ReactNode, useId, useRef, useState } from 'react';

export interface MenuProps {
  /** The accessible name of the button and of the pane. */
  readonly label: string;
  readonly button: ReactNode;
  readonly children: ReactNode;
  readonly onOpen?: () => void;
  readonly align?: 'left' | 'right';
}

export function Menu({ label, button, children, onOpen, align = 'right' }: MenuProps) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const [at, setAt] = useState({});
  const place = () => {
    const box = opener.current?.getBoundingClientRect();
    if (!box) return;
    const top = box.bottom + 4;
    setAt(align === 'right' ? { top, right: window.innerWidth - box.right } : { top, left: box.left });
    onOpen?.();
  };
  return (
    <>
      <button ref={opener} type="button" className="button quiet" popoverTarget={id} aria-label={label}>
        {button}
      </button>
      <fieldset
        id={id}
        popover="auto"
        className="menu"
        aria-label={label}
        style={at}
        onBeforeToggle={(event) => {
          if (event.newState === 'open') place();
        }}
      >
        {children}
      </fieldset>
    </>
  );
}
