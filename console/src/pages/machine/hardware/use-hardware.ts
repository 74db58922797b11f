/** What the hardware tab reads. Readings have their own schedule, so they are fetched again every minute while the page is visible. */
import { createClient } from '@connectrpc/connect';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { HardwareService } from '../../../../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { transport } from '../../../api/clients.ts';

const hardware = createClient(HardwareService, transport);
const AGAIN_MS = 60_000;
const PAGE = 20;

export function useHardware(machineId: string) {
  return useQuery({
    queryKey: ['machine', machineId, 'hardware'],
    queryFn: () => hardware.getHardware({ machineId }),
    refetchInterval: AGAIN_MS,
  });
}

export function useSensors(machineId: string) {
  return useQuery({
    queryKey: ['machine', machineId, 'sensors'],
    queryFn: () => hardware.listSensors({ machineId }),
    refetchInterval: AGAIN_MS,
  });
}

export function useSensorHistory(machineId: string) {
  return useQuery({
    queryKey: ['machine', machineId, 'sensor-history'],
    queryFn: async () => (await hardware.getSensorHistory({ machineId })).series,
    refetchInterval: AGAIN_MS,
  });
}

export function useLemonScore(machineId: string) {
  return useQuery({
    queryKey: ['machine', machineId, 'lemon-score'],
    queryFn: () => hardware.getLemonScore({ machineId }),
    refetchInterval: AGAIN_MS,
  });
}

export function useHardwareLog(machineId: string) {
  return useInfiniteQuery({
    queryKey: ['machine', machineId, 'hardware-log'],
    queryFn: ({ pageParam }) => hardware.listHardwareLog({ machineId, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
    refetchInterval: AGAIN_MS,
  });
}

export function useHardwareChanges(machineId: string) {
  return useInfiniteQuery({
    queryKey: ['machine', machineId, 'hardware-changes'],
    queryFn: ({ pageParam }) =>
      hardware.listHardwareChanges({ machineId, pageSize: PAGE, pageToken: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ nextPageToken }) => nextPageToken || null,
  });
}
