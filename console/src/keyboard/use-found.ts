/** Machines, operations and rollouts whose id starts with a text, and rollouts by name. */
import { useQuery } from '@tanstack/react-query';
import { machines, operations, rollouts } from '../api/clients.ts';
import { machineView } from '../machine-view.ts';
import { operationView } from '../operation-view.ts';
import { machineHref, operationHref, quoted, rolloutHref, startsWith } from '../pages.ts';
import { rolloutState, stateText, titleOf } from '../rollout-view.ts';

export interface Found {
  readonly group: 'Machine' | 'Operation' | 'Rollout';
  readonly id: string;
  readonly hint: string;
  readonly href: string;
}

const SHOWN = 8;

export function useFound(asked: string): { readonly found: readonly Found[]; readonly isFetching: boolean } {
  const lists = [
    useList('machines', asked, async () => {
      const filter = startsWith('machine_id', asked);
      return (await machines.listMachines({ filter, pageSize: SHOWN })).machines.map(foundMachine);
    }),
    useList('operations', asked, async () => {
      const filter = `${startsWith('operation_id', asked)} OR ${startsWith('machine_id', asked)}`;
      return (await operations.listOperations({ filter, pageSize: SHOWN })).operations.map(foundOperation);
    }),
    useList('rollouts', asked, async () => {
      const filter = `${startsWith('rollout_id', asked)} OR name : ${quoted(asked)}`;
      return (await rollouts.listRollouts({ filter, pageSize: SHOWN })).rollouts.map(foundRollout);
    }),
  ];
  return {
    found: lists.flatMap(({ data }) => data ?? []),
    isFetching: lists.some(({ isFetching }) => isFetching),
  };
}

function useList(name: string, asked: string, queryFn: () => Promise<Found[]>) {
  return useQuery({ queryKey: ['palette', name, asked], queryFn, enabled: asked !== '' });
}

function foundMachine(message: Parameters<typeof machineView>[0]): Found {
  const { machineId, effectiveState } = machineView(message);
  return { group: 'Machine', id: machineId, hint: effectiveState, href: machineHref(machineId) };
}

function foundOperation(message: Parameters<typeof operationView>[0]): Found {
  const { operationId, machineId, type, phase } = operationView(message);
  const hint = `${type} on ${machineId}, ${phase}`;
  return { group: 'Operation', id: operationId, hint, href: operationHref(operationId) };
}

function foundRollout(message: Parameters<typeof rolloutState>[0]): Found {
  const { rolloutId } = message;
  const hint = `${titleOf(message)}, ${stateText(rolloutState(message))}`;
  return { group: 'Rollout', id: rolloutId, hint, href: rolloutHref(rolloutId) };
}
