/** Document 4's nodes, as its REST API tells them. */
import { rest } from '../../api/rest.ts';

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

export function nodeHistory(id: string): Promise<Answer<HistoryBody[]>> {
  return rest('GET', `${path(id)}/history?limit=100`);
}

export async function listWorkflows(): Promise<Workflow[]> {
  return (await rest<Answer<Workflow[]>>('GET', '/api/v1/workflows')).data;
}

export interface StateChange {
  readonly state: string;
  readonly comment: string;
  readonly force: boolean;
  /** Empty: the one it has, or the default. */
  readonly workflow: string;
}

export async function changeNode(id: string, { workflow, comment, ...change }: StateChange): Promise<void> {
  if (workflow !== '') await rest('PATCH', path(id), { workflow });
  await rest('PATCH', `${path(id)}/state`, { ...change, ...(comment !== '' && { comment }) });
}
