import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Pool } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { admin } from '../../api/clients.ts';
import { Empty, Failed, Loading } from '../../ui/blank.tsx';
import { Command } from '../../ui/command.tsx';

/** Loads the pools and renders them as a table; the other states are the same for every table of pools. */
export function PoolList({ table }: { table: (pools: readonly Pool[]) => ReactNode }) {
  const { data, isPending, isError, error, refetch } = useQuery({
    queryKey: ['fleet-wide', 'pools'],
    queryFn: async () => (await admin.listPools({})).pools,
  });
  if (data && data.length > 0) return table(data);
  if (isPending) return <Loading lines={4} />;
  if (isError) return <Failed what="Failed to load pools" error={error} onRetry={() => void refetch()} />;
  return (
    <Empty title="No pools yet">
      <span>Agents enrol into a pool, and schedulers place work on the machines of a pool.</span>
      <Command>ingot pool create gpu</Command>
    </Empty>
  );
}
