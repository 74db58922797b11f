/** Agents and pools. The rules, and what the fields mean, are in docs/agents.md. */
import { z } from 'zod';
import { METRIC_NAMES } from '../../../domain/agent/agent.ts';
import { POOL, READY_MACHINE } from './answer-schemas.ts';
import type { RouteTable } from './route.ts';

/** The largest honest body has a few hundred bytes. */
const MAX_BODY_BYTES = 16 * 1024;

const ADDRESS = {
  machine_id: z.string(),
  pool_name: z.string().max(64),
  provider_name: z.string().max(64).nullish(),
};
const MACHINE_STATE = {
  machine_id: z.string(),
  ttl_seconds: z.int().meta({ description: 'A keepalive must come before these seconds are over.' }),
};

export const AGENT_ROUTES = {
  register: {
    method: 'POST',
    path: '/api/v1/machine/register',
    caller: 'agent',
    summary: 'Register the agent of a machine',
    body: {
      schema: z.looseObject({
        token: z.string().max(512).meta({ description: 'Required; the header decides who calls.' }),
        ...ADDRESS,
        hostname: z.string().max(253),
        cpu: z.string().meta({ description: 'Millicores, such as "8000m".' }),
        memory: z.string().meta({ description: 'Bytes, or with Ki, Mi, Gi or Ti, such as "16Gi".' }),
        gpu_count: z.string().meta({ description: 'A number as text, such as "1".' }),
        private_ip: z.string(),
        gpus: z.array(z.strictObject({ model: z.string().max(128), count: z.int().min(1) })).optional(),
        boot_id: z
          .string()
          .max(64)
          .optional()
          .meta({ description: 'Of the kernel. Another one than before is a reboot.' }),
        uptime_seconds: z.number().min(0).optional(),
      }),
    },
    maxBodyBytes: MAX_BODY_BYTES,
    answers: {
      200: {
        description: 'It is registered.',
        schema: z.strictObject({
          config: z.null(),
          machine_state: z.strictObject({
            ...MACHINE_STATE,
            status: z.literal('registered'),
            pool_name: z.string(),
          }),
        }),
      },
    },
  },
  keepalive: {
    method: 'POST',
    path: '/api/v1/machine/keepalive',
    caller: 'agent',
    summary: 'Keep the machine ready',
    body: {
      schema: z.looseObject({
        ...ADDRESS,
        agent_version: z.string().max(64).nullish(),
        metrics: z.looseObject(Object.fromEntries(METRIC_NAMES.map((name) => [name, z.number().optional()]))),
      }),
    },
    maxBodyBytes: MAX_BODY_BYTES,
    answers: {
      200: {
        description: 'It counts.',
        schema: z.strictObject({
          status: z.literal('ok'),
          machine_state: z.strictObject({
            ...MACHINE_STATE,
            status: z.literal('ready'),
            last_keepalive: z.string(),
            agent_version: z.string(),
          }),
          ignored: z.array(z.string()).optional(),
          rotate_token: z
            .literal(true)
            .optional()
            .meta({ description: 'The token is old: ask for another one at /api/v1/machine/token.' }),
        }),
      },
    },
  },
  rotateToken: {
    method: 'POST',
    path: '/api/v1/machine/token',
    caller: 'agent',
    summary: 'Get the next token of the machine',
    body: { schema: z.looseObject({ machine_id: z.string() }) },
    maxBodyBytes: MAX_BODY_BYTES,
    answers: {
      200: {
        description: 'The next token. The present one stays valid until the next one is used.',
        schema: z.strictObject({ token: z.string() }),
      },
    },
  },
  config: {
    method: 'GET',
    path: '/api/v1/machine/config',
    caller: 'agent or operator',
    summary: 'Get the configuration of an agent, which is none',
    answers: { 200: { description: 'None.', schema: z.strictObject({ config: z.null() }) } },
  },
  list: {
    method: 'GET',
    path: '/api/v1/machine/list',
    caller: 'any operator',
    summary: 'List the machines whose agents are ready',
    query: {
      pool_name: { description: 'In this pool.', schema: z.string() },
      provider_name: { description: 'Of this provider.', schema: z.string() },
      schedulable: { description: 'Whether work may be placed on them.', schema: z.boolean() },
    },
    answers: { 200: { description: 'All of them.', schema: z.array(READY_MACHINE) } },
  },
} as const satisfies RouteTable;

export const POOL_ROUTES = {
  list: {
    method: 'GET',
    path: '/api/v1/pool/list',
    caller: 'viewer',
    summary: 'List pools with their capacity',
    answers: { 200: { description: 'All of them.', schema: z.array(POOL) } },
  },
  show: {
    method: 'GET',
    path: '/api/v1/pool/show/:name',
    caller: 'viewer',
    summary: 'Get a pool with its capacity',
    params: { name: 'the name of the pool' },
    answers: { 200: { description: 'The pool.', schema: POOL } },
    refusals: ['POOL_NOT_FOUND'],
  },
} as const satisfies RouteTable;
