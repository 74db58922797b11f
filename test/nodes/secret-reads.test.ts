/** Reads of what may hold secrets are events: the image and the seed that a machine fetches while it is installed. */
import { expect, it } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { pendingNode, server, setUpBootSite } from './boot-site.ts';
import { boot, call, createNode, setState } from './rest.ts';

setUpBootSite();

const get = (path: string, token: string | null, range = '') =>
  fetch(`${server.httpUrl}${path}`, {
    headers: { ...(token && { authorization: `Bearer ${token}` }), ...(range && { range }) },
  });

async function readsOf(machineId: string) {
  const fleet = server.client(FleetService, server.adminToken);
  const { events } = await fleet.listEvents({ filter: `machine_id=${machineId}`, pageSize: 1000 });
  return events
    .filter(({ to }) => to === 'fetched' || to === 'seed_read')
    .map(({ kind, subject, to, identity, address }) => ({ kind, subject, to, identity, address }));
}

it('an image that a boot downloads in pieces is one event, with the machine and its address', async () => {
  const { id, mac } = await pendingNode();
  const { token } = await boot(server, mac);
  const path = '/api/v1/images/ubuntu-22.04/content';
  for (const range of ['bytes=0-9', 'bytes=10-19', '']) await (await get(path, token, range)).arrayBuffer();
  expect(await readsOf(id)).toEqual([
    {
      kind: 'image',
      subject: 'ubuntu-22.04',
      to: 'fetched',
      identity: `node_report:${id}`,
      address: '127.0.0.1',
    },
  ]);
});

it('a seed that a boot reads is an event, and no one else reads it', async () => {
  const workflow = 'seeded';
  await call(server, 'POST', '/workflows', {
    name: workflow,
    cmdline: 'ingot.token={boot_token}',
    image: { name: 'ubuntu-22.04' },
    user_data: '#cloud-config\n',
  });
  const { id, mac } = await createNode(server, { workflow });
  await setState(server, id, 'pending');
  const { token } = await boot(server, mac);
  expect((await get('/api/v1/boot/user-data', null)).status).toBe(403);
  expect(await (await get('/api/v1/boot/user-data', token)).text()).toContain('#cloud-config');
  expect(await readsOf(id)).toEqual([
    {
      kind: 'workflow',
      subject: workflow,
      to: 'seed_read',
      identity: `node_report:${id}`,
      address: '127.0.0.1',
    },
  ]);
});
