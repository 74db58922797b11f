import { type FormEvent, type ReactNode, useEffect, useId, useRef } from 'react';

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** If set, the dialog is a form. */
  readonly onSubmit?: () => void;
  readonly children: ReactNode;
  /** The buttons. */
  readonly foot?: ReactNode;
  /** A drawer is as high as the window, at its right. */
  readonly size?: 'usual' | 'wide' | 'drawer';
}

const CLASSES = {
  usual: 'dialog',
  wide: 'dialog wide',
  drawer: 'dialog drawer',
} as const satisfies Record<NonNullable<DialogProps['size']>, string>;

/** The browser's own modal dialog: it keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, onSubmit, children, foot, size = 'usual' }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    const previousFocus = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (previousFocus instanceof HTMLElement) previousFocus.focus();
    };
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  const content = (
    <>
      <div className="dialog-head">
        <h2 id={titleId}>{title}</h2>
      </div>
      <div className="dialog-body">{children}</div>
      {foot && <div className="dialog-foot">{foot}</div>}
    </>
  );
  return (
    <dialog
      ref={dialog}
      className={CLASSES[size]}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      {onSubmit ? <form onSubmit={submit}>{content}</form> : content}
    </dialog>
  );
}
