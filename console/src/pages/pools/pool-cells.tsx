/** What every list of pools shows of a pool. */
import { Link } from 'wouter';
import type { Pool } from '../../../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { listOf, quoted } from '../../pages.ts';
import { numberText } from '../fleet/counts.ts';

export function PoolHealth({ pool: { healthy } }: { pool: Pool }) {
  return (
    <span className={`badge tone-${healthy ? 'green' : 'orange'}`}>{healthy ? 'healthy' : 'degraded'}</span>
  );
}

/** How many of the pool's machines are schedulable, as a link to those. */
export function SchedulableLink({
  pool: { name, schedulable, total },
  title,
}: {
  pool: Pool;
  title?: string;
}) {
  return (
    <Link
      href={listOf('/agents', `pool = ${quoted(name)} AND schedulable = true`)}
      aria-label={`${schedulable} of ${total} machines in ${name} are schedulable`}
      title={title}
    >
      {numberText(schedulable)} of {numberText(total)}
    </Link>
  );
}
