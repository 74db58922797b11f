import { useState } from 'react';
import { rollouts } from '../../api/clients.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { amountFault } from '../rollout-draft/draft.ts';
import { amount } from '../rollout-draft/draft-spec.ts';
import { TextInput } from '../rollout-draft/text-input.tsx';

const EMPTY = { name: '', filter: '', groupBy: 'location.rack', maxUnavailable: '1' };

export function BudgetDialog({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [budget, setBudget] = useState(EMPTY);
  const { notify } = useToasts();
  const missing =
    budget.name.trim() === ''
      ? 'Enter a name.'
      : budget.maxUnavailable.trim() === ''
        ? 'Enter how many machines may be unavailable.'
        : amountFault(budget.maxUnavailable);
  const field = (name: keyof typeof EMPTY) => ({
    value: budget[name],
    onChange: (value: string) => setBudget({ ...budget, [name]: value }),
  });
  return (
    <FormDialog
      title="New budget"
      verb="Create"
      missing={missing}
      act={() =>
        rollouts.createBudget({
          budget: {
            name: budget.name.trim(),
            filter: budget.filter.trim(),
            groupBy: budget.groupBy.trim(),
            maxUnavailable: amount(budget.maxUnavailable),
          },
        })
      }
      onDone={({ name }) => {
        notify(`Budget ${name} is created`);
        onDone();
      }}
      onClose={onClose}
    >
      <TextInput title="Name" placeholder="racks" {...field('name')} />
      <TextInput
        title="Filter (optional)"
        placeholder="labels.role=web"
        hint="Empty: all machines count"
        {...field('filter')}
      />
      <TextInput
        title="Group by (optional)"
        placeholder="location.rack"
        hint="Empty: all machines are one group"
        {...field('groupBy')}
      />
      <TextInput
        title="Unavailable at most"
        placeholder="1 or 10%"
        fault={amountFault(budget.maxUnavailable)}
        {...field('maxUnavailable')}
      />
    </FormDialog>
  );
}
