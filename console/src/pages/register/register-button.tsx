import { lazy, Suspense, useState } from 'react';
import { METHODS, useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';

const RegisterDialog = lazy(() =>
  import('./register-dialog.tsx').then((m) => ({ default: m.RegisterDialog })),
);
const ImportDialog = lazy(() => import('./import-dialog.tsx').then((m) => ({ default: m.ImportDialog })));

/** Opens the dialog that registers one machine, or a list of them. */
export function RegisterButton({ kind = 'plain' }: { kind?: 'plain' | 'primary' }) {
  const [open, setOpen] = useState<'one' | 'list' | null>(null);
  const forbidden = useForbidden()('operator', METHODS.register);
  useOfferActions([
    { text: 'Register a machine', disabledBecause: forbidden, run: () => setOpen('one') },
    { text: 'Import machines', disabledBecause: forbidden, run: () => setOpen('list') },
  ]);
  return (
    <>
      <Button kind={kind} disabledBecause={forbidden} onClick={() => setOpen('one')}>
        <Icon name="plus" /> Register
      </Button>
      <Suspense fallback={null}>
        {open === 'one' && <RegisterDialog onClose={() => setOpen(null)} />}
        {open === 'list' && <ImportDialog onClose={() => setOpen(null)} />}
      </Suspense>
    </>
  );
}
