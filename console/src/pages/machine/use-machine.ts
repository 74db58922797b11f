/** The queries of a machine's page. Events of the machine refresh the queries whose key starts with it. */
import { useQuery } from '@tanstack/react-query';
import type { InstallState } from '../../../../src/domain/install/install-state.ts';
import type { ActionMachine } from '../../../../src/domain/machine/machine-action.ts';
import { admin, fleet, machines } from '../../api/clients.ts';
import { type MachineView, machineView } from '../../machine-view.ts';
import { quoted } from '../../pages.ts';
import { msOf } from '../../ui/time.tsx';

/** Keepalives are not events, so a machine with an agent is polled. */
const AGENT_MS = 15_000;

export function useMachine(machineId: string) {
  return useQuery({
    queryKey: ['machine', machineId],
    queryFn: async () => machineView(await machines.getMachine({ machineId })),
    refetchInterval: ({ state }) => (state.data && state.data.presence !== '' ? AGENT_MS : false),
  });
}

export function useExplanation(machineId: string) {
  return useQuery({
    queryKey: ['explanation', machineId],
    queryFn: () => admin.explainMachine({ machineId }),
  });
}

/** When a layer entered its state, from the history; for layers whose time is not part of the machine's status. */
export function useSince(machineId: string, layer: string, state: string): number | null {
  const { data } = useQuery({
    // Refreshed with the machine: it may have left the state and come back.
    queryKey: ['machine', machineId, 'since', layer, state],
    queryFn: async () => {
      const filter = `machine_id = ${quoted(machineId)} AND kind = ${layer} AND to = ${quoted(state)}`;
      const { events } = await fleet.listEvents({ filter, pageSize: 1 });
      return msOf(events[0]?.at);
    },
    enabled: state !== '',
  });
  return data ?? null;
}

/** The machine in the type of the actions' table. */
export function actionMachine(view: MachineView, whyNoBmc: string | null): ActionMachine {
  return { ...view, whyNoBmc, install: view.install === '' ? null : (view.install as InstallState) };
}
