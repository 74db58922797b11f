import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useShortcuts } from './shortcuts.tsx';

export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const seen = new Map(
    useShortcuts()
      .all()
      .map(({ key, what }) => [key, what]),
  );
  return (
    <Dialog
      title="Keyboard shortcuts"
      onClose={onClose}
      foot={
        <Button onClick={onClose} autoFocus>
          Close
        </Button>
      }
    >
      <dl className="facts">
        {[...seen].toSorted().map(([key, what]) => (
          <div key={key} className="pair">
            <dt>
              <kbd>{key === ' ' ? 'Space' : key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
