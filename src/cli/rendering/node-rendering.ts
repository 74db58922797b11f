/** Nodes: the body of the REST API, and the columns of the command line. */
import type { Rendering } from '../output/format.ts';
import type { Column } from '../output/table.ts';
import { ageText } from '../output/time-text.ts';
import { timestampOf } from './rest-timestamp.ts';

export interface NodeBody {
  readonly id: string;
  readonly mac_address: string;
  readonly state: string;
  readonly service: string | null;
  readonly hostname: string | null;
  readonly workflow: string | null;
  readonly tags: readonly string[];
  readonly install_attempts: number;
  readonly install_progress: number | null;
  readonly last_install_error: string | null;
  readonly state_changed_at: string;
  readonly last_seen_at: string | null;
  readonly [field: string]: unknown;
}

export function nodes(now: number): Rendering<NodeBody> {
  const columns: readonly Column<NodeBody>[] = [
    { header: 'NODE_ID', cell: ({ id }) => id },
    { header: 'MAC_ADDRESS', cell: (node) => node.mac_address },
    {
      header: 'STATE',
      stays: 'longest',
      cell: ({ state }) => state,
      colour: ({ state }) =>
        state === 'install_failed' ? 'red' : state === 'discovered' ? 'yellow' : undefined,
    },
    { header: 'SINCE', cell: (node) => ageText(timestampOf(node.state_changed_at), now) },
    { header: 'SERVICE', cell: ({ service }) => service ?? '' },
    {
      header: 'PROGRESS',
      cell: (node) => (node.state === 'installing' ? `${node.install_progress ?? 0}%` : ''),
    },
    {
      header: 'ATTEMPTS',
      cell: (node) => (node.install_attempts === 0 ? '' : String(node.install_attempts)),
    },
    { header: 'HOSTNAME', cell: (node) => node.hostname ?? '' },
    { header: 'WORKFLOW', cell: (node) => node.workflow ?? '' },
    { header: 'TAGS', cell: (node) => node.tags.join(',') },
  ];
  return {
    json: (node) => node as never,
    name: ({ id }) => id,
    columns,
    wideColumns: [
      ...columns,
      { header: 'SEEN', cell: (node) => ageText(timestampOf(node.last_seen_at), now) },
      { header: 'ERROR', cell: (node) => node.last_install_error ?? '' },
    ],
  };
}

export const nodePath = (id: string): string => `/nodes/${encodeURIComponent(id)}`;
