/** Each route that changes something, as mutating-methods.ts has the methods. */

import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { post, registration } from '../agents/calls.ts';
import { fresh } from '../api/fleet.ts';
import { boot, call, createNode, newMac } from '../nodes/rest.ts';
import { type Row, server } from './mutation-site.ts';

const node = async () => (await createNode(server)).id;

async function image(): Promise<string> {
  const name = fresh('image');
  await upload(name);
  return name;
}

async function upload(name: string): Promise<void> {
  const bytes = Buffer.alloc(1024, name);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const response = await fetch(`${server.httpUrl}/api/v1/images/${name}/content?sha256=${sha256}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/octet-stream' },
    body: bytes,
  });
  expect(response.status).toBe(201);
}

const stored = async () => {
  const name = fresh('workflow');
  await call(server, 'POST', '/workflows', { name, image: { name: 'any' } });
  return name;
};

/** Returns the cookie of a new session. */
async function signIn(): Promise<string> {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const response = await fetch(`${server.httpUrl}/auth/session`, { method: 'POST', headers });
  expect(response.status).toBe(201);
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** By method and path; a GET that is not here only reads. */
export const ROUTES: Readonly<Record<string, Row>> = {
  'POST /api/v1/nodes': { kind: 'install', call: () => createNode(server) },
  'PATCH /api/v1/nodes/:id': {
    kind: 'node',
    before: node,
    call: (id) => call(server, 'PATCH', `/nodes/${id}`, { notes: 'x' }),
  },
  'PATCH /api/v1/nodes/:id/state': {
    kind: 'install',
    before: node,
    call: (id) => call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending' }),
  },
  'POST /api/v1/nodes/:id/boot-url': {
    kind: 'install',
    before: async () => {
      const id = await node();
      await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending' });
      return id;
    },
    call: (id) => call(server, 'POST', `/nodes/${id}/boot-url`),
  },
  'DELETE /api/v1/nodes/:id': {
    kind: 'install',
    before: node,
    call: (id) => call(server, 'DELETE', `/nodes/${id}`),
  },
  'POST /api/v1/nodes/:id/tags': {
    kind: 'node',
    before: node,
    call: (id) => call(server, 'POST', `/nodes/${id}/tags`, { tag: 'x' }),
  },
  'DELETE /api/v1/nodes/:id/tags/:tag': {
    kind: 'node',
    before: async () => (await createNode(server, { tags: ['x'] })).id,
    call: (id) => call(server, 'DELETE', `/nodes/${id}/tags/x`),
  },
  'POST /api/v1/nodes/bulk/state': {
    kind: 'install',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/state', { node_ids: [id], state: 'pending' }),
  },
  'POST /api/v1/nodes/bulk/approve': {
    kind: 'install',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/approve', { node_ids: [id] }),
  },
  'POST /api/v1/nodes/bulk/tags': {
    kind: 'node',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/tags', { node_ids: [id], add: ['x'] }),
  },
  'POST /api/v1/nodes/bulk/workflow': {
    kind: 'node',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/workflow', { node_ids: [id], workflow: 'install' }),
  },
  'POST /api/v1/nodes/bulk/group': {
    kind: 'machine',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/group', { node_ids: [id], group: 'g' }),
  },
  'PUT /api/v1/images/:name/content': { kind: 'image', call: () => upload(fresh('image')) },
  'GET /api/v1/images/:name/content': {
    kind: 'image',
    before: image,
    call: (name) => call(server, 'GET', `/images/${name}/content`),
  },
  'DELETE /api/v1/images/:name': {
    kind: 'image',
    before: image,
    call: (name) => call(server, 'DELETE', `/images/${name}`),
  },
  'POST /api/v1/workflows': { kind: 'workflow', call: stored },
  'DELETE /api/v1/workflows/:name': {
    kind: 'workflow',
    before: stored,
    call: (name) => call(server, 'DELETE', `/workflows/${name}`),
  },
  'GET /api/v1/boot': {
    kind: 'node',
    before: async () => {
      const { id, mac } = await createNode(server);
      await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending' });
      return mac;
    },
    call: (mac) => boot(server, mac),
  },
  'POST /api/v1/report': {
    kind: 'install',
    call: () => call(server, 'POST', '/report', { mac_address: newMac() }, null),
  },
  'POST /api/v1/machine/register': {
    kind: 'presence',
    origin: 'none',
    before: async () => {
      const { machine: made, token } = await server.admin.createMachine({ pool: 'pool' });
      return `${made?.machineId} ${token}`;
    },
    call: (given) => {
      const [machineId = '', token = ''] = given.split(' ');
      return post(server, 'register', token, registration({ machineId, token }, { pool_name: 'pool' }));
    },
  },
  'POST /api/v1/machine/token': {
    kind: 'token',
    origin: 'none',
    before: async () => {
      const { machine: made, token } = await server.admin.createMachine({ pool: 'pool' });
      const enrolled = { machineId: made?.machineId ?? '', token };
      await post(server, 'register', token, registration(enrolled, { pool_name: 'pool' }));
      return `${enrolled.machineId} ${token}`;
    },
    call: (given) => {
      const [machineId, token] = given.split(' ');
      return call(server, 'POST', '/machine/token', { machine_id: machineId }, token);
    },
  },
  'POST /auth/session': { kind: 'session', call: signIn },
  'DELETE /auth/session': {
    kind: 'session',
    before: signIn,
    call: (cookie) => {
      const headers = { cookie, 'sec-fetch-site': 'same-origin', origin: server.httpUrl };
      return fetch(`${server.httpUrl}/auth/session`, { method: 'DELETE', headers });
    },
  },
  'POST /api/v1/burn-in': {
    why: 'needs a machine that was booted for it; test/hardware/burn-in.test.ts reads the event of its end',
  },
  'POST /api/v1/machine/keepalive': {
    why: 'comes every minute from every machine; what changes presence is an event',
  },
};
