/** Schemas of what the REST routes answer. A test holds real answers against them. */
import { z } from 'zod';
import { presenceLifecycle } from '../../../domain/agent/presence.ts';
import { ERASE_METHOD_NAMES, ERASE_RESULTS } from '../../../domain/install/erasure.ts';
import { IMAGE_FORMATS } from '../../../domain/install/image-format.ts';
import { installLifecycle } from '../../../domain/install/install-state.ts';
import { ARCHITECTURES, BOOT_MODES } from '../../../domain/install/node.ts';
import { type Lifecycle, statesOf } from '../../../domain/lifecycle/lifecycle.ts';
import { UNSCHEDULABLE_REASONS } from '../../../domain/machine/schedulable.ts';
import { serviceLifecycle } from '../../../domain/machine/service-state.ts';
import { FETCH_KINDS } from '../../../store/nodes/boot-fetches.ts';

const text = z.string();
const time = z.iso.datetime();
const count = z.int().min(0);

function stateOf<State extends string>(lifecycle: Lifecycle<State, string>) {
  return z.enum(statesOf(lifecycle) as [State, ...State[]]);
}

export const INSTALL_STATE = stateOf(installLifecycle);
export const SERVICE_STATE = stateOf(serviceLifecycle);

/** One thing, and what was done with it. */
export function done(data: z.ZodType) {
  return z.strictObject({ success: z.literal(true), data, message: text });
}

export function found(data: z.ZodType) {
  return z.strictObject({ success: z.literal(true), data, message: text.optional() });
}

/** A page of things, and how many there are in all. */
export function listOf(entry: z.ZodType) {
  return z.strictObject({
    success: z.literal(true),
    data: z.array(entry),
    total: count,
    message: text.optional(),
  });
}

const ERASURE = z
  .strictObject({
    outcome: z.enum([...ERASE_RESULTS, 'unproven']),
    at: time,
    operation_id: text.nullable(),
    disks: z.array(z.looseObject({ name: text, result: z.enum(ERASE_RESULTS) })),
    skipped: z.array(z.strictObject({ name: text, reason: text })),
  })
  .meta({
    description: `The evidence of the last erasure: each disk, with the method (${ERASE_METHOD_NAMES.join(', ')}).`,
  });

const INSTALL_NODE_FIELDS = {
  id: text,
  mac_address: text,
  hostname: text.nullable(),
  vendor: text.nullable(),
  model: text.nullable(),
  serial_number: text.nullable(),
  system_uuid: text.nullable(),
  arch: z.enum(ARCHITECTURES).nullable(),
  boot_mode: z.enum(BOOT_MODES).nullable(),
  ip_address: text.nullable(),
  state: INSTALL_STATE,
  service: SERVICE_STATE.nullable(),
  workflow: text.nullable(),
  workflow_id: text.nullable().meta({ description: 'Another name of workflow.' }),
  group: text.nullable(),
  group_id: text.nullable().meta({ description: 'Another name of group.' }),
  tags: z.array(text),
  notes: text.nullable(),
  install_attempts: count,
  last_install_error: text.nullable(),
  install_progress: z.int().min(0).max(100).nullable(),
  operation_id: text.nullable().meta({ description: 'The operation that installs or erases it.' }),
  erasure: ERASURE.nullable(),
  state_changed_at: time,
  last_seen_at: time.nullable(),
  created_at: time,
  updated_at: time,
};

export const NODE = z.strictObject(INSTALL_NODE_FIELDS).meta({ id: 'Node' });

export const HARDWARE = z.looseObject({ source: text, reported_at: time, changed_at: time }).meta({
  id: 'Hardware',
  description: 'System, CPU, memory, disks, NICs and GPUs, as far as they are known.',
});

export const NODE_WITH_HARDWARE = z
  .strictObject({ ...INSTALL_NODE_FIELDS, inventory: HARDWARE.nullable() })
  .meta({ id: 'NodeWithHardware' });

export const INVENTORY_ENTRY = z
  .strictObject({
    id: text,
    service: SERVICE_STATE.nullable(),
    state: INSTALL_STATE.nullable(),
    pool: text.nullable(),
    mac_address: text.nullable(),
    hostname: text.nullable(),
    workflow: text.nullable(),
    tags: z.array(text),
    created_at: time,
  })
  .meta({ id: 'InventoryEntry' });

export const HISTORY_ENTRY = z
  .strictObject({
    id: z.union([text, count]),
    from_state: text.nullable(),
    to_state: text,
    triggered_by: text,
    user_id: text.nullable(),
    comment: text.nullable(),
    metadata: z.record(text, z.unknown()).nullable(),
    created_at: time,
  })
  .meta({ id: 'HistoryEntry' });

export const BULK_ANSWER = z.strictObject({
  success: z.boolean().meta({ description: 'Whether all of them succeeded.' }),
  data: z.array(
    z.union([
      z.strictObject({
        id: text,
        success: z.literal(true),
        state: INSTALL_STATE,
        workflow: text.nullable(),
        group: text.nullable(),
        tags: z.array(text),
      }),
      z.looseObject({ id: text, success: z.literal(false), detail: text, reason: text }),
    ]),
  ),
  total: count,
  message: text,
});

export const BOOT_FETCH = z
  .strictObject({
    id: z.union([text, count]),
    node_id: text.nullable(),
    boot: count.nullable(),
    mac_address: text.nullable(),
    address: text,
    fetched: z.enum(FETCH_KINDS),
    served: text,
    reason: text.nullable(),
    bytes: count,
    total_bytes: count.nullable(),
    complete: z.boolean(),
    created_at: time,
  })
  .meta({ id: 'BootFetch' });

export const IMAGE = z
  .strictObject({
    name: text,
    sha256: text,
    size_bytes: count,
    format: z.enum(Object.keys(IMAGE_FORMATS) as [keyof typeof IMAGE_FORMATS]).nullable(),
    virtual_size_bytes: count.nullable(),
    created_by: text,
    created_at: time,
  })
  .meta({ id: 'Image' });

export const WORKFLOW = z
  .strictObject({
    name: text,
    description: text,
    kernel: text,
    initrd: text,
    cmdline: text,
    image: z
      .union([z.strictObject({ name: text }), z.strictObject({ url: text, sha256: text, size_bytes: count })])
      .nullable(),
    post_install: text,
    disk: z.looseObject({ pick: text, usb: z.boolean() }).nullable(),
    has_user_data: z.boolean(),
    user_data: text.nullable().meta({ description: 'For admins; null for others.' }),
    network_config: text.nullable().meta({ description: 'For admins; null for others.' }),
  })
  .meta({ id: 'Workflow' });

const CAPACITY = z.strictObject({ cpu_millicores: count, memory_bytes: count, gpu_count: count });
const METRICS = z
  .record(text, z.number())
  .meta({ description: 'The metrics of keepalives; see docs/agents.md.' });

export const POOL = z
  .strictObject({
    pool_name: text,
    healthy: z.boolean().meta({ description: 'At least one of its machines is schedulable.' }),
    schedulable: count,
    total: count,
    unschedulable: z.partialRecord(z.enum(UNSCHEDULABLE_REASONS as [string, ...string[]]), count),
    machines: z.record(stateOf(presenceLifecycle), count),
    capacity: CAPACITY,
    total_capacity: CAPACITY,
    gpus: z.array(z.strictObject({ model: text, schedulable: count, total: count })),
    metrics: METRICS,
    created_by: text,
    created_at: time,
  })
  .meta({ id: 'Pool' });

export const READY_MACHINE = z
  .strictObject({
    state: z.strictObject({
      machine_id: text,
      provider_name: text,
      pool_name: text,
      status: z.literal('ready'),
      schedulable: z.boolean(),
      unschedulable_reason: text,
      unschedulable_message: text,
      hostname: text,
      cpu: count.meta({ description: 'Millicores.' }),
      memory: count.meta({ description: 'MiB.' }),
      gpu_count: count,
      gpus: z.array(z.strictObject({ model: text, count })),
      private_ip: text,
      agent_version: text,
      last_keepalive: text.meta({ description: 'Seconds since 1970, as text.' }),
    }),
    metrics: METRICS,
  })
  .meta({ id: 'ReadyMachine' });

export const REST_ERROR = z
  .strictObject({
    detail: text.meta({ description: 'What is wrong, for people.' }),
    reason: text.optional().meta({ description: 'Stable, for programs; see docs/errors.md.' }),
    errors: z.array(z.strictObject({ field: text, message: text })).optional(),
    machine_id: text.optional().meta({ description: 'The machine that has what was asked for.' }),
  })
  .meta({ id: 'Error' });

export const AGENT_ERROR = z
  .strictObject({
    error_code: text.optional().meta({ description: 'Stable, for programs; see docs/errors.md.' }),
    message: text,
    detail: text.optional(),
    revoked: z.literal(true).optional().meta({ description: 'The token is revoked for good.' }),
  })
  .meta({ id: 'AgentError' });
