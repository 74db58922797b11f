/** The four actions of docs/operations-api.md as buttons, all others in a menu. */
import { useEffect, useId, useRef, useState } from 'react';
import {
  MACHINE_ACTION_NAMES,
  MACHINE_ACTIONS,
  type MachineAction,
  type MachineActionInfo,
} from '../../../../src/domain/machine/machine-action.ts';
import { Button } from '../../ui/button.tsx';

const FIRST = [
  'reboot',
  'reimage',
  'enter_maintenance',
  'exit_maintenance',
] as const satisfies readonly MachineAction[];
const MORE = MACHINE_ACTION_NAMES.filter((action) => !(FIRST as readonly string[]).includes(action));

export interface ActionBarProps {
  readonly whyNotNow: (action: MachineAction) => string;
  readonly onAction: (action: MachineAction) => void;
}

export function ActionBar({ whyNotNow, onAction }: ActionBarProps) {
  return (
    <>
      {FIRST.map((action) => (
        <Button
          key={action}
          kind={MACHINE_ACTIONS[action].confirm === 'name' ? 'danger' : 'plain'}
          disabledBecause={whyNotNow(action)}
          onClick={() => onAction(action)}
        >
          {MACHINE_ACTIONS[action].title}
        </Button>
      ))}
      <MoreActions whyNotNow={whyNotNow} onAction={onAction} />
    </>
  );
}

function MoreActions({ whyNotNow, onAction }: ActionBarProps) {
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
        onClick={() => setOpen(!isOpen)}
      >
        More actions
      </button>
      {isOpen && (
        <ul id={id} className="more-list" aria-label="More actions">
          {MORE.map((action) => {
            const { title, effect, confirm }: MachineActionInfo = MACHINE_ACTIONS[action];
            const reason = whyNotNow(action);
            return (
              <li key={action}>
                <button
                  type="button"
                  className={confirm === 'name' ? 'more-action danger' : 'more-action'}
                  aria-disabled={reason !== '' || undefined}
                  onClick={() => {
                    if (reason !== '') return;
                    // When the dialog closes, it returns the focus to this button.
                    opener.current?.focus();
                    setOpen(false);
                    onAction(action);
                  }}
                >
                  <span className="title">{title}</span>
                  <span className="soft">{reason || effect}</span>
                </button>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}
