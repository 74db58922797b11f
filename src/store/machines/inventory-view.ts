/** Machines as the nodes API lists its inventory (docs/nodes.md): each with its service and install state. */
import type { InstallState } from '../../domain/install/install-state.ts';
import { GROUP_LABEL } from '../../domain/install/node.ts';
import type { ServiceState } from '../../domain/machine/service-state.ts';
import type { Session } from '../database/database.ts';
import { inScope, preparedAs } from '../filter/scope-condition.ts';
import type { NodeFilter } from '../nodes/node-lists.ts';

export interface InventoryEntry {
  readonly machineId: string;
  readonly service: ServiceState | null;
  readonly install: InstallState | null;
  readonly pool: string | null;
  readonly macAddress: string;
  readonly hostname: string;
  readonly workflow: string;
  readonly tags: readonly string[];
  readonly createdAt: Date;
}

export interface InventoryFilter extends NodeFilter {
  readonly service: ServiceState | null;
}

const ROWS = `machines m LEFT JOIN nodes n USING (machine_id) LEFT JOIN agents a USING (machine_id)`;
const MAC = `coalesce(n.mac_address, m.spec -> 'mac_addresses' ->> 0, '')`;
const HOSTNAME = `coalesce(nullif(n.hostname, ''), a.hostname, '')`;

/** Deleted machines are left out, unless the filter asks for that service state. */
const MATCHES = `(m.service IS NOT NULL OR m.install IS NOT NULL)
  AND CASE WHEN $6::text IS NULL THEN m.service IS DISTINCT FROM 'deleted' ELSE m.service = $6 END
  AND ($1::text IS NULL OR m.install = $1) AND ($2::text IS NULL OR n.tags @> ARRAY[$2])
  AND ($3::text IS NULL OR n.workflow = $3)
  AND ($4::text IS NULL OR n.mac_address = $4 OR m.spec -> 'mac_addresses' ? $4)
  AND ($5::text IS NULL OR strpos(lower(concat_ws(' ', m.machine_id, ${MAC}, ${HOSTNAME}, n.vendor, n.model,
    n.serial_number, n.ip_address)), lower($5)) > 0)
  AND ($7::text IS NULL OR m.labels ->> '${GROUP_LABEL}' = $7)`;

/** Newest first. */
export async function listInventory(
  session: Session,
  filter: InventoryFilter,
): Promise<{ readonly entries: InventoryEntry[]; readonly total: number }> {
  const values = [
    filter.state,
    filter.tag,
    filter.workflow,
    filter.mac,
    filter.q,
    filter.service,
    filter.group,
  ];
  const counted = inScope(filter.scope, 'm.machine_id', 8);
  const [count] = await session.run<{ total: number }>(
    preparedAs('count-inventory', filter.scope),
    `SELECT count(*) AS total FROM ${ROWS} WHERE ${MATCHES} AND ${counted.text}`,
    [...values, ...counted.values],
  );
  const listed = inScope(filter.scope, 'm.machine_id', 10);
  const entries = await session.run<InventoryEntry & Record<string, unknown>>(
    preparedAs('list-inventory', filter.scope),
    `SELECT m.machine_id AS "machineId", m.service, m.install, m.pool, ${MAC} AS "macAddress",
       ${HOSTNAME} AS hostname, coalesce(n.workflow, '') AS workflow, coalesce(n.tags, '{}') AS tags,
       m.created_at AS "createdAt"
     FROM ${ROWS} WHERE ${MATCHES} AND ${listed.text}
     ORDER BY m.created_at DESC, m.machine_id DESC LIMIT $8 OFFSET $9`,
    [...values, filter.limit, filter.offset, ...listed.values],
  );
  return { entries, total: count?.total ?? 0 };
}
