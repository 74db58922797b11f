/** Document 4's nodes, as its REST API tells them. */
import { RestFailure, rest } from '../../api/rest.ts';

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

export function listNodes(query: Readonly<Record<string, string>>): Promise<Answer<NodeBody[]>> {
  return rest('GET', `/api/v1/nodes?${new URLSearchParams(query)}`);
}

/** Being installed, and not seen for too long. */
export function listStalled(query: Readonly<Record<string, string>>): Promise<Answer<NodeBody[]>> {
  return rest('GET', `/api/v1/nodes/stalled?${new URLSearchParams(query)}`);
}

export function nodeHistory(id: string): Promise<Answer<HistoryBody[]>> {
  return rest('GET', `${path(id)}/history?limit=100`);
}

/** The newest. */
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
  /** Empty: the one it has, or the default. */
  readonly workflow: string;
}

/** The workflow and the state together: what is refused leaves the node as it was. */
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
  /** Why it was refused. */
  readonly detail?: string;
}

const MOST_AT_ONCE = 1000;

/** Each node has its own result: what is refused for one holds no other up. */
export async function changeNodes(
  what: 'approve' | 'tags' | 'workflow',
  ids: readonly string[],
  change: Readonly<Record<string, unknown>>,
): Promise<BulkResult[]> {
  const results: BulkResult[] = [];
  for (let from = 0; from < ids.length; from += MOST_AT_ONCE) {
    const body = { node_ids: ids.slice(from, from + MOST_AT_ONCE), ...change };
    const { data } = await rest<Answer<BulkResult[]>>('POST', `/api/v1/nodes/bulk/${what}`, body);
    results.push(...data);
  }
  return results;
}
