/** A machine and what is asked beside it. Events about the machine refresh what begins with its key. */
import { useQuery } from '@tanstack/react-query';
import type { InstallState } from '../../../../src/domain/install/install-state.ts';
import type { ActionMachine } from '../../../../src/domain/machine/machine-action.ts';
import { admin, fleet, machines } from '../../api/clients.ts';
import { type MachineView, machineView } from '../../machine-view.ts';
import { quoted } from '../../pages.ts';
import { msOf } from '../../ui/time.tsx';

/** Keepalives are no events: what an agent measured is asked for. */
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

/** When a layer came into its state, by the history; for the layers whose time the machine does not tell itself. */
export function useSince(machineId: string, layer: string, state: string): number | null {
  const { data } = useQuery({
    // Asked again with the machine: it may have left the state and come back.
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

/** As the tables of what can be done know it. */
export function actionMachine(view: MachineView): ActionMachine {
  return { ...view, install: view.install === '' ? null : (view.install as InstallState) };
}
