/** Nodes: the install layer of machines that boot from the network. The rules are in docs/nodes.md. */
import { z } from 'zod';
import { NODE_BODIES } from '../../../operations/nodes/node-input.ts';
import {
  BULK_ANSWER,
  done,
  found,
  HARDWARE,
  HISTORY_ENTRY,
  INSTALL_STATE,
  INVENTORY_ENTRY,
  listOf,
  NODE,
  NODE_WITH_HARDWARE,
  SERVICE_STATE,
} from './answer-schemas.ts';
import type { QueryParameter, RouteTable } from './route.ts';

export const MAX_PAGE = 1000;
export const DEFAULT_PAGE = 50;
const MAX_BODY_BYTES = 64 * 1024;
/** A thousand ids of the greatest length. */
const MAX_BULK_BYTES = 256 * 1024;
/** Nodes alone, or every machine with its service state. */
export const VIEWS = ['nodes', 'inventory'] as const;

const NODE_ID = { id: 'the id of the machine' } as const;
const NODE_ANSWER = { 200: { description: 'The node as it is now.', schema: done(NODE) } } as const;

export const PAGE_QUERY = {
  limit: {
    description: 'How many at most.',
    schema: z.int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE),
  },
  offset: { description: 'How many to skip.', schema: z.int().min(0).default(0) },
} as const satisfies Record<string, QueryParameter>;

const text = (description: string): QueryParameter => ({ description, schema: z.string() });

export const NODE_ROUTES = {
  create: {
    method: 'POST',
    path: '/api/v1/nodes',
    caller: 'operator',
    summary: 'Register a node',
    body: { schema: NODE_BODIES.create },
    maxBodyBytes: MAX_BODY_BYTES,
    answers: { 201: { description: 'The node.', schema: done(NODE) } },
    refusals: ['MAC_TAKEN'],
  },
  list: {
    method: 'GET',
    path: '/api/v1/nodes',
    caller: 'viewer',
    summary: 'List nodes, or every machine with view=inventory',
    query: {
      state: { description: 'In this install state.', schema: INSTALL_STATE },
      tag: text('With this tag.'),
      group: text('In this group.'),
      group_id: text('Another name of group.'),
      workflow: text('With this workflow.'),
      workflow_id: text('Another name of workflow.'),
      mac: text('With this MAC address.'),
      q: text('With this text in its id, addresses, host name, vendor, model or serial number.'),
      view: { description: 'What to list.', schema: z.enum(VIEWS).default('nodes') },
      service: { description: 'In this service state; for view=inventory.', schema: SERVICE_STATE },
      ...PAGE_QUERY,
    },
    answers: {
      200: { description: 'A page.', schema: z.union([listOf(NODE), listOf(INVENTORY_ENTRY)]) },
    },
  },
  get: {
    method: 'GET',
    path: '/api/v1/nodes/:id',
    caller: 'viewer',
    summary: 'Get a node with its hardware',
    params: NODE_ID,
    answers: { 200: { description: 'The node.', schema: done(NODE_WITH_HARDWARE) } },
    refusals: ['NODE_NOT_FOUND'],
  },
  inventory: {
    method: 'GET',
    path: '/api/v1/nodes/:id/inventory',
    caller: 'viewer',
    summary: 'Get the hardware that the installer found',
    params: NODE_ID,
    answers: { 200: { description: 'The hardware.', schema: found(HARDWARE) } },
    refusals: ['NODE_NOT_FOUND', 'NO_INVENTORY'],
  },
  patch: {
    method: 'PATCH',
    path: '/api/v1/nodes/:id',
    caller: 'operator',
    summary: 'Change what is recorded of a node',
    params: NODE_ID,
    body: { schema: NODE_BODIES.patch },
    maxBodyBytes: MAX_BODY_BYTES,
    answers: NODE_ANSWER,
    refusals: ['NODE_NOT_FOUND'],
  },
  setState: {
    method: 'PATCH',
    path: '/api/v1/nodes/:id/state',
    caller: 'operator',
    summary: 'Set the install state of a node; retired and deprovisioning need the role admin',
    params: NODE_ID,
    body: { schema: NODE_BODIES.stateChange },
    maxBodyBytes: MAX_BODY_BYTES,
    answers: NODE_ANSWER,
    refusals: [
      'NODE_NOT_FOUND',
      'ILLEGAL_TRANSITION',
      'INSTALL_ATTEMPTS_EXHAUSTED',
      'MACHINE_BLOCKED',
      'WORKFLOW_NOT_FOUND',
      'INSTALLER_NOT_BUILT',
      'BOOT_FILE_MISSING',
    ],
  },
  retire: {
    method: 'DELETE',
    path: '/api/v1/nodes/:id',
    caller: 'admin',
    summary: 'Retire a node for good',
    params: NODE_ID,
    answers: NODE_ANSWER,
    refusals: ['NODE_NOT_FOUND', 'ILLEGAL_TRANSITION'],
  },
  addTag: {
    method: 'POST',
    path: '/api/v1/nodes/:id/tags',
    caller: 'operator',
    summary: 'Add a tag',
    params: NODE_ID,
    body: { schema: NODE_BODIES.tag },
    maxBodyBytes: MAX_BODY_BYTES,
    answers: NODE_ANSWER,
    refusals: ['NODE_NOT_FOUND'],
  },
  removeTag: {
    method: 'DELETE',
    path: '/api/v1/nodes/:id/tags/:tag',
    caller: 'operator',
    summary: 'Remove a tag',
    params: { ...NODE_ID, tag: 'the tag' },
    answers: NODE_ANSWER,
    refusals: ['NODE_NOT_FOUND'],
  },
  history: {
    method: 'GET',
    path: '/api/v1/nodes/:id/history',
    caller: 'viewer',
    summary: 'List the changes of the install state of a node',
    params: NODE_ID,
    query: PAGE_QUERY,
    answers: {
      200: {
        description: 'A page, newest first.',
        schema: z.strictObject({ data: z.array(HISTORY_ENTRY), total: z.int() }),
      },
    },
    refusals: ['NODE_NOT_FOUND'],
  },
} as const satisfies RouteTable;

const BULK = { 200: { description: 'What became of each.', schema: BULK_ANSWER } } as const;

export const NODE_BULK_ROUTES = {
  stats: {
    method: 'GET',
    path: '/api/v1/nodes/stats',
    caller: 'viewer',
    summary: 'Count nodes by install state',
    answers: {
      200: {
        description: 'The counts.',
        schema: done(
          z.strictObject({
            total: z.int(),
            by_state: z.record(INSTALL_STATE, z.int()),
            discovered_last_hour: z.int(),
            installing_count: z.int(),
            stalled_count: z.int(),
          }),
        ),
      },
    },
  },
  stalled: {
    method: 'GET',
    path: '/api/v1/nodes/stalled',
    caller: 'viewer',
    summary: 'List nodes whose installation does not advance',
    query: PAGE_QUERY,
    answers: { 200: { description: 'A page.', schema: listOf(NODE) } },
  },
  setState: {
    method: 'POST',
    path: '/api/v1/nodes/bulk/state',
    caller: 'operator',
    summary: 'Set the install state of many nodes; retired and deprovisioning need the role admin',
    body: { schema: NODE_BODIES.bulkStateChange },
    maxBodyBytes: MAX_BULK_BYTES,
    answers: BULK,
  },
  approve: {
    method: 'POST',
    path: '/api/v1/nodes/bulk/approve',
    caller: 'operator',
    summary: 'Approve discovered nodes for installation',
    body: { schema: NODE_BODIES.bulkApproval },
    maxBodyBytes: MAX_BULK_BYTES,
    answers: BULK,
  },
  tag: {
    method: 'POST',
    path: '/api/v1/nodes/bulk/tags',
    caller: 'operator',
    summary: 'Add and remove tags of many nodes',
    body: { schema: NODE_BODIES.bulkTags },
    maxBodyBytes: MAX_BULK_BYTES,
    answers: BULK,
  },
  setWorkflow: {
    method: 'POST',
    path: '/api/v1/nodes/bulk/workflow',
    caller: 'operator',
    summary: 'Give many nodes a workflow',
    body: { schema: NODE_BODIES.bulkWorkflow },
    maxBodyBytes: MAX_BULK_BYTES,
    answers: BULK,
  },
  setGroup: {
    method: 'POST',
    path: '/api/v1/nodes/bulk/group',
    caller: 'operator',
    summary: 'Put many nodes into a group',
    body: { schema: NODE_BODIES.bulkGroup },
    maxBodyBytes: MAX_BULK_BYTES,
    answers: BULK,
  },
} as const satisfies RouteTable;
