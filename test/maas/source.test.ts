// @module-tag extended: client.test.ts and onboarding.test.ts use the same simulator; this compares it with the source of MAAS.
/**
 * The simulated MAAS answers as the source of MAAS 3.5.13 says that MAAS does. The table in docs/maas.md names file and
 * symbol for each of these; they are asked over plain HTTP, without the client that shares its authors.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MaasSimulator, startMaasSimulator } from '../parts/maas/simulator.ts';

let simulator: MaasSimulator;
let lastMac = 0;

beforeAll(async () => {
  simulator = await startMaasSimulator({ speed: 3000 });
});
afterAll(() => simulator?.stop());

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: () => Record<string, unknown>;
}

async function ask(method: string, path: string, fields?: Readonly<Record<string, string>>): Promise<Answer> {
  const [consumer, token, secret] = simulator.apiKey.split(':');
  const authorization = `OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="${consumer}", oauth_token="${token}", oauth_signature="%26${secret}", oauth_nonce="1", oauth_timestamp="1"`;
  const response = await fetch(`${simulator.url}/api/2.0/${path}`, {
    method,
    headers: { authorization },
    ...(fields && { body: new URLSearchParams(fields) }),
  });
  const text = await response.text();
  return { status: response.status, text, json: () => JSON.parse(text) as Record<string, unknown> };
}

const call = (id: string, op: string, fields: Readonly<Record<string, string>> = {}) =>
  ask('POST', `machines/${id}/?op=${op}`, fields);

function newMac(): string {
  lastMac += 1;
  return `52:54:00:05:00:${lastMac.toString(16).padStart(2, '0')}`;
}

type Added = Partial<Parameters<MaasSimulator['admin']['addMachine']>[0]>;
async function add(given: Added = {}): Promise<string> {
  const { system_id: id } = await simulator.admin.addMachine({ mac_addresses: [newMac()], ...given });
  return id;
}

const read = async (id: string) => (await ask('GET', `machines/${id}/`)).json();
const becomes = (id: string, status_name: string) =>
  expect.poll(() => read(id), { interval: 20, timeout: 10_000 }).toMatchObject({ status_name });

async function withSite<T>(
  change: Parameters<MaasSimulator['admin']['changeSite']>[0],
  back: Parameters<MaasSimulator['admin']['changeSite']>[0],
  work: () => Promise<T>,
): Promise<T> {
  await simulator.admin.changeSite(change);
  try {
    return await work();
  } finally {
    await simulator.admin.changeSite(back);
  }
}

describe('power', () => {
  it('a machine that MAAS enlisted by itself has no power type, and commissioning it is a 500', async () => {
    const id = await add();
    expect(await read(id)).toMatchObject({ power_type: '', power_state: 'unknown' });
    const words = 'Unconfigured power type. Please configure the power type and try again.';
    expect(await call(id, 'commission')).toMatchObject({ status: 500, text: words });
    expect(await read(id)).toMatchObject({ status_name: 'New' });
    const power = { power_type: 'ipmi', power_parameters_power_address: '10.0.0.1' };
    expect((await ask('PUT', `machines/${id}/`, power)).json()).toMatchObject({ power_type: 'ipmi' });
    expect((await ask('GET', `machines/${id}/?op=power_parameters`)).json()).toEqual({
      power_address: '10.0.0.1',
    });
    expect((await call(id, 'commission')).status).toBe(200);
    await becomes(id, 'Ready');
  });

  it('of type manual can’t be queried or switched, and a release is over at once', async () => {
    const id = await add({ status: 'Deployed', power_type: 'manual' });
    expect((await ask('GET', `machines/${id}/?op=query_power_state`)).json()).toEqual({ state: 'unknown' });
    expect(await call(id, 'power_off')).toMatchObject({ status: 200, text: 'null' });
    expect((await call(id, 'release')).json()).toMatchObject({ status_name: 'Ready', owner: null });
    const none = await add();
    expect(await ask('GET', `machines/${none}/?op=query_power_state`)).toMatchObject({
      status: 503,
      text: 'No BMC is defined.  Cannot power control node.',
    });
  });

  it('of type manual makes what MAAS begins wait for a person', async () => {
    const id = await add({ power_type: 'manual', status: 'Ready' });
    await call(id, 'deploy');
    await sleep(400);
    expect(await read(id)).toMatchObject({ status_name: 'Deploying' });
    await simulator.admin.changeMachine(id, { boot: true });
    await becomes(id, 'Deployed');
    const idle = await add({ power_type: 'manual' });
    await call(idle, 'commission');
    await becomes(idle, 'Failed commissioning');
    expect(await read(idle)).toMatchObject({
      status_message: "Node operation 'Commissioning' timed out after 30 minutes.",
    });
  });

  it('that can’t be switched on undoes what was started, with a 500', async () => {
    const [ready, fresh] = [await add({ status: 'Ready' }), await add({ power_type: 'ipmi' })];
    for (const id of [ready, fresh])
      await simulator.admin.fault({ fault: 'power_on_failure', system_id: id });
    expect((await call(ready, 'deploy')).status).toBe(500);
    expect(await read(ready)).toMatchObject({ status_name: 'Allocated' });
    expect((await call(fresh, 'commission')).status).toBe(500);
    expect(await read(fresh)).toMatchObject({ status_name: 'New', owner: null });
  });
});

describe('names and places', () => {
  const machine = (more: Readonly<Record<string, string>>) => ({
    ...{ architecture: 'amd64/generic', mac_addresses: newMac(), commission: 'false', ...more },
  });

  it('a hostname is unique, when a machine is added and when it is changed', async () => {
    const id = await add({ hostname: 'taken' });
    const refused = await ask('POST', 'machines/', machine({ hostname: 'taken' }));
    expect(refused.status).toBe(400);
    expect(refused.json()).toEqual({ hostname: ['Machine with this Hostname already exists.'] });
    expect((await ask('PUT', `machines/${await add()}/`, { hostname: 'taken' })).status).toBe(400);
    expect((await ask('PUT', `machines/${id}/`, { hostname: 'taken' })).status).toBe(200);
  });

  it('zones, pools, domains and tags exist, and machines are only put where one is', async () => {
    await simulator.admin.changeSite({
      ...{ zones: ['default', 'z1'], pools: ['default', 'p1'], domains: ['maas', 'd1'], tags: ['t1'] },
    });
    for (const [kind, name] of [
      ['zones', 'z1'],
      ['resourcepools', 'p1'],
      ['domains', 'd1'],
      ['tags', 't1'],
    ] as const) {
      const names = (JSON.parse((await ask('GET', `${kind}/`)).text) as { name: string }[]).map(
        (one) => one.name,
      );
      expect(names).toContain(name);
    }
    const placed = { zone: 'z1', pool: 'p1', domain: 'd1', min_hwe_kernel: 'hwe-24.04' };
    expect((await ask('POST', 'machines/', machine(placed))).json()).toMatchObject({
      ...{ zone: { name: 'z1' }, pool: { name: 'p1' }, domain: { name: 'd1' }, min_hwe_kernel: 'hwe-24.04' },
    });
    const choice = 'Select a valid choice. That choice is not one of the available choices.';
    const id = await add();
    expect((await ask('PUT', `machines/${id}/`, { zone: 'z9', pool: 'p9', domain: 'd9' })).json()).toEqual({
      ...{ zone: [choice], pool: [choice], domain: ['Unable to find domain d9'] },
    });
    expect(await ask('POST', 'tags/t9/?op=update_nodes', { add: id })).toMatchObject({
      status: 404,
      text: 'No Tag matches the given query.',
    });
    expect((await ask('POST', 'tags/', { name: 't9' })).status).toBe(200);
    expect((await ask('POST', 'tags/t9/?op=update_nodes', { add: id })).json()).toMatchObject({ added: 1 });
    expect(await read(id)).toMatchObject({ tag_names: ['t9'] });
  });

  it('scripts and kernels are checked by name', async () => {
    const id = await add({ power_type: 'ipmi', status: 'Ready' });
    expect((await call(id, 'commission', { testing_scripts: 'nonsense' })).json()).toEqual({
      testing_scripts: ['Select a valid choice. nonsense is not one of the available choices.'],
    });
    expect((await call(id, 'deploy', { hwe_kernel: 'hwe-6.06' })).json()).toEqual({
      hwe_kernel: ['hwe-6.06 is not available for ubuntu/noble on amd64/generic.'],
    });
  });
});

describe('owners, locks and rights', () => {
  it('the user that commissions or deploys a machine owns it, until it is New or Ready', async () => {
    const id = await add({ power_type: 'ipmi' });
    expect((await call(id, 'commission')).json()).toMatchObject({ owner: 'ingot' });
    await becomes(id, 'Ready');
    expect(await read(id)).toMatchObject({ owner: null });
    expect((await call(id, 'deploy')).json()).toMatchObject({ owner: 'ingot' });
    expect((await ask('GET', 'users/?op=whoami')).json()).toMatchObject({
      username: 'ingot',
      is_superuser: true,
    });
  });

  it('an administrator may deploy and release what another user has', async () => {
    const [allocated, deployed] = [
      await add({ status: 'Allocated', owner: 'alice' }),
      await add({ status: 'Deployed', owner: 'alice' }),
    ];
    expect((await call(allocated, 'deploy')).status).toBe(200);
    expect((await call(deployed, 'release')).status).toBe(200);
    const ready = await add({ status: 'Ready', owner: 'alice' });
    expect(await call(ready, 'deploy')).toMatchObject({
      status: 409,
      text: "Can't allocate a machine belonging to another user.",
    });
  });

  it('a locked machine is refused with 403 and not a word; only a deployed one can be locked', async () => {
    const id = await add({ status: 'Deployed' });
    expect((await call(await add({ status: 'Ready' }), 'lock')).status).toBe(409);
    expect((await call(id, 'lock')).json()).toMatchObject({ locked: true });
    for (const op of ['release', 'deploy', 'power_off', 'commission', 'mark_broken', 'abort']) {
      expect(await call(id, op)).toMatchObject({ status: 403, text: '' });
    }
    expect(await ask('DELETE', `machines/${id}/`)).toMatchObject({ status: 403, text: '' });
    expect(await ask('PUT', `machines/${id}/`, { zone: 'default' })).toMatchObject({ status: 403, text: '' });
    expect(await read(id)).toMatchObject({ locked: true, status_name: 'Deployed' });
    expect((await call(id, 'unlock')).status).toBe(200);
    expect((await call(id, 'release')).status).toBe(200);
  });

  it('a user who is no administrator can’t commission or change machines, and does not see those of others', async () => {
    const [id, other] = [
      await add({ power_type: 'ipmi', status: 'Ready' }),
      await add({ status: 'Deployed', owner: 'alice' }),
    ];
    await withSite(
      { user: { username: 'bob', isAdmin: false } },
      { user: { username: 'ingot', isAdmin: true } },
      async () => {
        for (const op of ['commission', 'set_storage_layout', 'override_failed_testing', 'mark_fixed'])
          expect(await call(id, op)).toMatchObject({ status: 403, text: '' });
        expect((await ask('PUT', `machines/${id}/`, { power_type: 'manual' })).status).toBe(403);
        expect((await ask('DELETE', `machines/${id}/`)).status).toBe(403);
        expect((await ask('GET', `machines/${id}/?op=power_parameters`)).status).toBe(403);
        expect((await ask('POST', 'tags/', { name: 'x' })).status).toBe(403);
        expect((await ask('GET', `machines/${other}/`)).status).toBe(403);
        expect((await ask('GET', 'machines/')).text).not.toContain(other);
        const mine = { architecture: 'amd64/generic', mac_addresses: newMac(), pool: 'nowhere' };
        // A pool of an administrator's form: passed over in silence.
        expect((await ask('POST', 'machines/', mine)).json()).toMatchObject({ pool: { name: 'default' } });
        expect((await call(id, 'deploy')).json()).toMatchObject({ owner: 'bob' });
      },
    );
  });
});

describe('interfaces', () => {
  it('no subnet is linked to a member of a bond', async () => {
    const id = await add({ mac_addresses: [newMac(), newMac()], status: 'Ready', bond: true });
    const { boot_interface: boot, interface_set: all } = (await read(id)) as {
      boot_interface: { id: number; name: string; children: string[] };
      interface_set: { id: number; name: string; type: string; parents: string[] }[];
    };
    expect(boot).toMatchObject({ name: 'eth0', children: ['bond0'] });
    const bond = all.find(({ type }) => type === 'bond');
    expect(bond).toMatchObject({ name: 'bond0', parents: ['eth0', 'eth1'] });
    const link = (nic: number) =>
      ask('POST', `nodes/${id}/interfaces/${nic}/?op=link_subnet`, { mode: 'AUTO', subnet: '1' });
    const refused = await link(boot.id);
    expect(refused.status).toBe(400);
    expect(refused.json()).toEqual({
      bond: ['Cannot link interface(eth0) when interface is in a bond(bond0).'],
    });
    expect((await link(bond?.id ?? 0)).status).toBe(200);
  });
});

describe('releases', () => {
  const runsOf = async (id: string) =>
    JSON.parse((await ask('GET', `nodes/${id}/results/?type=release`)).text) as {
      results: { name: string; parameters: Record<string, { value: boolean }> }[];
    }[];

  it('a power off that fails puts the machine back to where it was, with a 500', async () => {
    const id = await add({ status: 'Deployed' });
    await simulator.admin.fault({ fault: 'power_off_failure', system_id: id });
    expect((await call(id, 'release')).status).toBe(500);
    expect(await read(id)).toMatchObject({ status_name: 'Deployed', owner: 'ingot', osystem: '' });
    expect((await call(id, 'release')).status).toBe(200);
    await becomes(id, 'Ready');
  });

  it('a power off that fails after the erasing leaves the machine in Disk erasing, until it is aborted', async () => {
    const id = await add({ status: 'Deployed' });
    await simulator.admin.fault({ fault: 'power_off_failure', system_id: id });
    await call(id, 'release', { erase: 'true', quick_erase: 'true' });
    const events = async () => (await ask('GET', `events/?op=query&id=${id}&level=DEBUG`)).text;
    await expect.poll(events, { timeout: 10_000 }).toContain('Failed to power off node');
    expect(await events()).toContain('Disks erased');
    await sleep(300);
    expect(await read(id)).toMatchObject({ status_name: 'Disk erasing' });
    expect(await call(id, 'release')).toMatchObject({ status: 409 });
    expect((await call(id, 'abort')).json()).toMatchObject({ status_name: 'Failed disk erasing' });
    expect((await call(id, 'release')).json()).toMatchObject({ status_name: 'Ready' });
  });

  it('where erasing was asked for and forced, it is Releasing that does not end before the power is off', async () => {
    const on = { settings: { enable_disk_erasing_on_release: true } };
    const off = { settings: { enable_disk_erasing_on_release: false } };
    const id = await withSite(on, off, async () => {
      const erased = await add({ status: 'Deployed' });
      await simulator.admin.fault({ fault: 'power_off_failure', system_id: erased });
      await call(erased, 'release', { erase: 'true' });
      return erased;
    });
    const events = async () => (await ask('GET', `events/?op=query&id=${id}`)).text;
    await expect.poll(events, { timeout: 10_000 }).toContain('Failed to power off node');
    await sleep(300);
    expect(await read(id)).toMatchObject({ status_name: 'Releasing' });
    expect((await call(id, 'abort')).status).toBe(409);
    expect((await call(id, 'power_off')).status).toBe(200);
    await becomes(id, 'Ready');
  });

  it('a site that erases at every release does so in its own way', async () => {
    const settings = { enable_disk_erasing_on_release: true, disk_erase_with_quick_erase: true };
    const back = { enable_disk_erasing_on_release: false, disk_erase_with_quick_erase: false };
    await withSite({ settings }, { settings: back }, async () => {
      const name = 'maas/?op=get_config&name=enable_disk_erasing_on_release';
      expect(await ask('GET', name)).toMatchObject({ status: 200, text: 'true' });
      const [asked, not] = [await add({ status: 'Deployed' }), await add({ status: 'Deployed' })];
      // Asked for and forced: the script is listed twice, and the state is another.
      expect((await call(asked, 'release', { erase: 'true', secure_erase: 'true' })).json()).toMatchObject({
        status_name: 'Releasing',
      });
      expect((await call(not, 'release')).json()).toMatchObject({ status_name: 'Disk erasing' });
      for (const id of [asked, not]) {
        expect((await runsOf(id))[0]?.results).toMatchObject([
          {
            name: 'wipe-disks',
            parameters: { secure_erase: { value: true }, quick_erase: { value: true } },
          },
        ]);
        await becomes(id, 'Ready');
      }
    });
    const plain = await add({ status: 'Deployed' });
    await call(plain, 'release');
    await becomes(plain, 'Ready');
    expect(await runsOf(plain)).toEqual([]);
  });
});

describe('tests and repairs', () => {
  it('a machine whose tests failed can’t be commissioned or released, only overridden or deleted', async () => {
    const id = await add({ power_type: 'ipmi' });
    await simulator.admin.fault({ fault: 'testing_failure', system_id: id });
    await call(id, 'commission');
    await becomes(id, 'Failed testing');
    expect((await call(id, 'commission')).json()).toEqual({
      __all__: ['Commission is not available because of the current state of the node.'],
    });
    expect((await call(id, 'release')).status).toBe(409);
    expect((await call(id, 'override_failed_testing')).json()).toMatchObject({ status_name: 'Ready' });
    expect(await call(id, 'override_failed_testing')).toMatchObject({ status: 409 });
    const used = await add({ status: 'Deployed' });
    await simulator.admin.changeMachine(used, { status: 'Failed testing', osystem: 'ubuntu' });
    expect((await call(used, 'override_failed_testing')).json()).toMatchObject({ status_name: 'Deployed' });
    const gone = await add({ status: 'Failed testing' });
    expect((await ask('DELETE', `machines/${gone}/`)).status).toBe(204);
  });

  it('mark_fixed is for Broken alone, and mark_broken for the owner', async () => {
    expect(await call(await add({ status: 'Failed testing' }), 'mark_fixed')).toMatchObject({
      status: 409,
      text: "Can't mark a non-broken node as 'Ready'.",
    });
    const id = await add({ status: 'Deployed' });
    expect((await call(id, 'mark_broken')).json()).toMatchObject({ status_name: 'Broken', owner: null });
    expect((await call(id, 'mark_fixed')).json()).toMatchObject({ status_name: 'Ready' });
    expect(await call(await add({ status: 'Deployed', owner: 'alice' }), 'mark_broken')).toMatchObject({
      status: 403,
      text: '',
    });
  });
});
