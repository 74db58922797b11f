/** What the page reads from a machine's BMC. It reads when the page opens and after a click, never by events: a BMC is slow. */
import { createClient } from '@connectrpc/connect';
import { useQuery } from '@tanstack/react-query';
import { BmcService } from '../../../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { fleet, transport } from '../../api/clients.ts';
import type { MachineView } from '../../machine-view.ts';

export const bmc = createClient(BmcService, transport);

const FRESH_MS = 60_000;

export function usePower(machineId: string) {
  return useQuery({
    queryKey: ['bmc', machineId, 'power'],
    queryFn: () => bmc.getPower({ machineId }),
    staleTime: FRESH_MS,
    retry: false,
  });
}

export function useBootOverride(machineId: string) {
  return useQuery({
    queryKey: ['bmc', machineId, 'boot-override'],
    queryFn: () => bmc.getBootOverride({ machineId }),
    staleTime: FRESH_MS,
    retry: false,
  });
}

/** Why nothing can be asked of its BMC; null: something can, as far as the console knows. */
export function useWhyNoBmc({ machineId, provider, spec }: MachineView): string | null {
  const { data } = useQuery({
    queryKey: ['providers'],
    queryFn: async () => (await fleet.listProviders({})).providers,
    staleTime: FRESH_MS,
  });
  const known = data?.find(({ name, isDefault }) => (provider === '' ? isDefault : name === provider));
  if (!known) return null;
  if (!known.capabilities.includes('bmc'))
    return `The provider ${known.name} of ${machineId} does not administer BMCs.`;
  // A simulated machine has a BMC without an address.
  return spec.bmc_endpoint === '' && known.kind !== 'fake'
    ? `${machineId} has no BMC address. Enter it in its configuration first.`
    : null;
}
