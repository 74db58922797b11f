/** Nodes and workflows in the REST API (docs/nodes.md). */
import { rest } from '../../api/rest.ts';
import { RestFailure } from '../../api/rest-failure.ts';

export interface NodeBody {
  readonly id: string;
  readonly mac_address: string | null;
  readonly hostname: string | null;
  readonly vendor: string | null;
  readonly model: string | null;
  readonly serial_number: string | null;
  readonly arch: string | null;
  readonly boot_mode: string | null;
  readonly ip_address: string | null;
  readonly state: string;
  readonly workflow: string | null;
  readonly tags: readonly string[];
  readonly install_attempts: number;
  readonly last_install_error: string | null;
  readonly install_progress: number | null;
  readonly operation_id: string | null;
  readonly state_changed_at: string;
  readonly last_seen_at: string | null;
}

/** What a person may write down about a node. */
export interface NodeFields {
  readonly hostname: string | null;
  readonly vendor: string | null;
  readonly model: string | null;
  readonly serial_number: string | null;
  readonly arch: string | null;
  readonly boot_mode: string | null;
  readonly notes: string | null;
  readonly tags: readonly string[];
}

/** A node of a list has no notes. */
export type EditedNode = Omit<NodeFields, 'notes'> & { readonly id: string; readonly notes?: string | null };

export interface HistoryBody {
  readonly id: number | string;
  readonly from_state: string;
  readonly to_state: string;
  readonly triggered_by: string;
  readonly user_id: string | null;
  readonly comment: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
}

export interface BootFetchBody {
  readonly id: string;
  readonly boot: number | null;
  readonly address: string;
  readonly fetched: string;
  readonly served: string;
  readonly reason: string | null;
  readonly bytes: number;
  readonly total_bytes: number | null;
  readonly complete: boolean;
  readonly created_at: string;
}

export interface Workflow {
  readonly name: string;
}

interface Answer<T> {
  readonly data: T;
  readonly total: number;
}

const path = (id: string) => `/api/v1/nodes/${encodeURIComponent(id)}`;

/** The metadata of an entry as `name=value`. The erasure has its own section on the page. */
export function historyDetails({ metadata }: HistoryBody): string {
  return Object.entries(metadata ?? {})
    .filter(([name]) => name !== 'erase')
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
}

export function listNodes(query: Readonly<Record<string, string>>): Promise<Answer<NodeBody[]>> {
  return rest('GET', `/api/v1/nodes?${new URLSearchParams(query)}`);
}

/** Nodes that are installing, and not seen for too long. */
export function listStalled(query: Readonly<Record<string, string>>): Promise<Answer<NodeBody[]>> {
  return rest('GET', `/api/v1/nodes/stalled?${new URLSearchParams(query)}`);
}

export async function editNode(
  id: string,
  changes: Partial<Record<keyof NodeFields, unknown>>,
): Promise<void> {
  await rest('PATCH', path(id), changes);
}

export function nodeHistory(id: string): Promise<Answer<HistoryBody[]>> {
  return rest('GET', `${path(id)}/history?limit=100`);
}

/** The newest ten. */
export function nodeBoots(id: string): Promise<Answer<BootFetchBody[]>> {
  return rest('GET', `${path(id)}/boots?limit=10`);
}

export async function listWorkflows(): Promise<Workflow[]> {
  return (await rest<Answer<Workflow[]>>('GET', '/api/v1/workflows')).data;
}

export interface StateChange {
  readonly state: string;
  readonly comment: string;
  readonly force: boolean;
}

export async function changeNode(id: string, { comment, ...change }: StateChange): Promise<void> {
  await rest('PATCH', `${path(id)}/state`, { ...change, ...(comment !== '' && { comment }) });
}

export interface Approval extends Omit<StateChange, 'state'> {
  /** Empty: the node's current workflow, or the default. */
  readonly workflow: string;
}

/** Sets the workflow and the state together: if the server rejects it, the node does not change. */
export async function approveNode(id: string, { workflow, comment, force }: Approval): Promise<void> {
  const [result] = await changeNodes('approve', [id], {
    force,
    ...(workflow !== '' && { workflow }),
    ...(comment !== '' && { comment }),
  });
  if (!result?.success) throw new RestFailure(400, result?.detail ?? 'the node was not approved');
}

export interface BulkResult {
  readonly id: string;
  readonly success: boolean;
  /** Why it was rejected. */
  readonly detail?: string;
}

/** The server's limit per request. */
const MAX_NODES_PER_REQUEST = 1000;

/** Each node has its own result: a rejection for one does not affect the others. */
export async function changeNodes(
  what: 'approve' | 'tags' | 'workflow',
  ids: readonly string[],
  change: Readonly<Record<string, unknown>>,
): Promise<BulkResult[]> {
  const results: BulkResult[] = [];
  for (let from = 0; from < ids.length; from += MAX_NODES_PER_REQUEST) {
    const body = { node_ids: ids.slice(from, from + MAX_NODES_PER_REQUEST), ...change };
    const { data } = await rest<Answer<BulkResult[]>>('POST', `/api/v1/nodes/bulk/${what}`, body);
    results.push(...data);
  }
  return results;
}
