import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { admin } from '../../api/clients.ts';
import { shellWord } from '../../shell-word.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { TextInput } from '../rollout-draft/text-input.tsx';

export function PoolDialog({ onClose }: { onClose: () => void }) {
  const [typed, setName] = useState('');
  const name = typed.trim();
  const queries = useQueryClient();
  const { notify } = useToasts();
  return (
    <FormDialog
      title="New pool"
      verb="Create"
      missing={name === '' ? 'Enter a name.' : ''}
      act={() => admin.createPool({ name })}
      onDone={(pool) => {
        notify(`Pool ${pool.name} is created`);
        void queries.invalidateQueries({ queryKey: ['fleet-wide', 'pools'] });
      }}
      onClose={onClose}
      command={`ingot pool create ${shellWord(name || '<name>')}`}
    >
      <TextInput
        title="Name"
        placeholder="gpu"
        hint="Agents enrol into a pool, and schedulers place work on its machines"
        value={typed}
        onChange={setName}
      />
    </FormDialog>
  );
}
