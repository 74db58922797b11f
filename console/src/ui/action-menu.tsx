/** A button that opens a list of actions, each with its effect, or with the reason why it is not available. */
import { useEffect, useId, useRef, useState } from 'react';

export interface MenuAction {
  readonly key: string;
  readonly title: string;
  readonly effect: string;
  readonly isDangerous: boolean;
  /** Empty: it is available. */
  readonly disabledBecause: string;
  readonly run: () => void;
}

export interface ActionMenuProps {
  readonly actions: readonly MenuAction[];
  /** The accessible name, where a page has another menu of actions. It contains what is shown. */
  readonly label?: string | undefined;
}

const SHOWN_TEXT = 'More actions';

export function ActionMenu({ actions, label = SHOWN_TEXT }: ActionMenuProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const around = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const closeOutside = ({ target }: Event) => {
      if (target instanceof Node && !around.current?.contains(target)) setOpen(false);
    };
    const closeByKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return;
      setOpen(false);
      opener.current?.focus();
    };
    document.addEventListener('pointerdown', closeOutside);
    document.addEventListener('focusin', closeOutside);
    document.addEventListener('keydown', closeByKey);
    return () => {
      document.removeEventListener('pointerdown', closeOutside);
      document.removeEventListener('focusin', closeOutside);
      document.removeEventListener('keydown', closeByKey);
    };
  }, [isOpen]);
  return (
    <div className="more-actions" ref={around}>
      <button
        ref={opener}
        type="button"
        className="button"
        aria-expanded={isOpen}
        aria-controls={id}
        aria-label={label === SHOWN_TEXT ? undefined : label}
        onClick={() => setOpen(!isOpen)}
      >
        {SHOWN_TEXT}
      </button>
      {isOpen && (
        <ul id={id} className="more-list" aria-label={label}>
          {actions.map(({ key, title, effect, isDangerous, disabledBecause, run }) => (
            <li key={key}>
              <button
                type="button"
                className={isDangerous ? 'more-action danger' : 'more-action'}
                aria-disabled={disabledBecause !== '' || undefined}
                onClick={() => {
                  if (disabledBecause !== '') return;
                  // When the dialog closes, it returns the focus to this button.
                  opener.current?.focus();
                  setOpen(false);
                  run();
                }}
              >
                <span className="title">{title}</span>
                <span className="soft">{disabledBecause || effect}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
