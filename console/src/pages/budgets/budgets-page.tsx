/** Disruption budgets: how many machines of a group may be unavailable, and how many are. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Budget, GroupUse } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { rollouts } from '../../api/clients.ts';
import { failureOf } from '../../api/failure.ts';
import { countText } from '../../count-text.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { listOf, machineHref } from '../../pages.ts';
import '../../styles/budgets.css';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { BudgetDialog } from './budget-dialog.tsx';
import { UseBar } from './use-bar.tsx';

const KEY = ['fleet-wide', 'budgets'] as const;

export function BudgetsPage() {
  const [isNew, setNew] = useState(false);
  const [removed, remove] = useState<Budget | null>(null);
  const disabledBecause = useForbidden()('admin', METHODS.changeBudgets);
  const list = useQuery({ queryKey: KEY, queryFn: async () => (await rollouts.listBudgets({})).budgets });
  const queries = useQueryClient();
  const refresh = () => void queries.invalidateQueries({ queryKey: KEY });
  useOfferActions([{ text: 'New budget', disabledBecause, run: () => setNew(true) }]);
  return (
    <>
      <PageTitle
        title="Budgets"
        actions={
          <Button kind="primary" disabledBecause={disabledBecause} onClick={() => setNew(true)}>
            New budget
          </Button>
        }
      />
      {list.isPending && <Loading lines={5} />}
      {list.isError && !list.data && (
        <Failed what="Failed to load budgets" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.data?.length === 0 && (
        <Empty title="No budgets yet">
          <span>
            A budget limits how many machines of a group may be unavailable at once, by any work: rollouts
            wait, and other operations are refused.
          </span>
          <Button disabledBecause={disabledBecause} onClick={() => setNew(true)}>
            Create the first one
          </Button>
        </Empty>
      )}
      <div className="stack">
        {list.data?.map((budget) => (
          <BudgetPanel
            key={budget.name}
            budget={budget}
            disabledBecause={
              budget.source === 'configuration'
                ? 'It is in the configuration file: remove it there.'
                : disabledBecause
            }
            onDelete={() => remove(budget)}
          />
        ))}
      </div>
      {isNew && <BudgetDialog onDone={refresh} onClose={() => setNew(false)} />}
      {removed && <DeleteDialog budget={removed} onDone={refresh} onClose={() => remove(null)} />}
    </>
  );
}

interface BudgetPanelProps {
  readonly budget: Budget;
  readonly disabledBecause: string;
  readonly onDelete: () => void;
}

function BudgetPanel({ budget, disabledBecause, onDelete }: BudgetPanelProps) {
  const { name, filter, groupBy, maxUnavailable, source, createdBy, groups } = budget;
  return (
    <Panel
      title={name}
      actions={
        <Button kind="danger" label={`Delete ${name}`} disabledBecause={disabledBecause} onClick={onDelete}>
          Delete
        </Button>
      }
    >
      <p>
        At most <strong>{maxUnavailable}</strong> unavailable{' '}
        {groupBy === '' ? 'of ' : `in each ${groupBy} of `}
        {filter === '' ? 'all machines' : <Link href={listOf('/machines', filter)}>{filter}</Link>}{' '}
        <span className="soft">
          ({source === 'configuration' ? 'of the configuration' : `created by ${createdBy}`})
        </span>
      </p>
      {groups.length === 0 && <p className="soft">No machine that was ever in service counts for it.</p>}
      <ul className="budget-groups">
        {groups.map((group) => (
          <Group key={group.group} group={group} />
        ))}
      </ul>
    </Panel>
  );
}

function Group({ group: { group, unavailable, limit, machines, machineIds } }: { group: GroupUse }) {
  return (
    <li>
      <UseBar title={group || 'all machines'} group={countText(machines)} used={unavailable} limit={limit} />
      {machineIds.length > 0 && (
        <div className="soft wraps">
          Unavailable:{' '}
          {machineIds.map((id, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <Link className="mono" href={machineHref(id)}>
                {id}
              </Link>
            </span>
          ))}
        </div>
      )}
    </li>
  );
}

interface DeleteDialogProps {
  readonly budget: Budget;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function DeleteDialog({ budget: { name }, onDone, onClose }: DeleteDialogProps) {
  const { notify } = useToasts();
  const call = useMutation({
    mutationFn: () => rollouts.deleteBudget({ name }),
    onSuccess: () => {
      notify(`Budget ${name} is deleted`);
      onDone();
      onClose();
    },
  });
  return (
    <Dialog
      title={`Delete budget ${name}`}
      onClose={onClose}
      onSubmit={() => call.mutate()}
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="danger-primary"
            disabledBecause={call.isPending ? 'Request in progress.' : ''}
          >
            Delete
          </Button>
        </>
      }
    >
      <p>Operations and rollouts that wait for it start.</p>
      {call.isError && (
        <p className="fault" role="alert">
          {failureOf(call.error).message} {failureOf(call.error).advice}
        </p>
      )}
    </Dialog>
  );
}
