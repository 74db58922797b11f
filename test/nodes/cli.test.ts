import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launch, type Run } from '../cli/harness.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { boot, newMac, prepareInstall, proofOf, report } from './rest.ts';

let server: TestServer;
let dir: string;
beforeAll(async () => {
  server = await startTestServer();
  dir = mkdtempSync(join(tmpdir(), 'ingot-node-cli-'));
});
afterAll(async () => {
  await server?.stop();
  rmSync(dir, { recursive: true, force: true });
});

function ingot(line: string, env: Record<string, string> = {}): Promise<Run> {
  return launch(server.grpcAddress, line, {
    cwd: dir,
    env: { INGOT_TOKEN: server.adminToken, INGOT_HTTP_URL: server.httpUrl, ...env },
  }).ended;
}

it('shows a node from discovery to retirement', async () => {
  expect((await ingot('node list')).stderr).toContain('no nodes');
  const mac = newMac();
  await boot(server, mac);
  const id = (await ingot('node list -o name')).stdout.trim();
  // Coarse states alone: the progress of an installation is shown with the node.
  const listed = (await ingot('node list')).stdout;
  expect(listed).toContain(mac);
  expect(listed).not.toContain('discovered');
  expect((await ingot(`node show ${id}`)).stdout).toMatch(/state: +discovered/);

  writeFileSync(join(dir, 'disk.img'), Buffer.alloc(20 * 1024 * 1024, 7));
  const added = await ingot('image add ubuntu-22.04 disk.img');
  expect(added).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('added ubuntu-22.04: 20 MiB, sha256 '),
  });
  expect(added.stderr).toContain('sent 16 MiB of 20 MiB');
  expect((await ingot('image add again disk.img')).code).toBe(0);
  expect((await ingot('image list -o name')).stdout).toBe('again\nubuntu-22.04\n');
  expect((await ingot('image remove again')).stdout).toBe('removed again\n');

  writeFileSync(join(dir, 'w.yaml'), 'name: ubuntu\nimage: {name: ubuntu-22.04}\n');
  expect((await ingot('workflow create -f w.yaml')).stdout).toBe('stored workflow ubuntu\n');
  expect((await ingot('workflow list')).stdout).toMatch(/ubuntu +ubuntu-22.04/);
  expect((await ingot('workflow show ubuntu')).stdout).toContain('"ubuntu-22.04"');

  expect((await ingot(`node approve ${id} --workflow ubuntu --comment cabled`)).stdout).toBe(
    `${id} is pending\n`,
  );
  const { script, token } = await boot(server, mac);
  const inventory = {
    cpu: { model: 'Fast', sockets: 2 },
    disks: [{ name: 'sda', model: 'Disk \u001b[31m', serial_number: 'D1', size_bytes: 1024 ** 4 }],
  };
  await report(server, mac, 'progress', { installation_progress: 45, inventory }, token);
  expect((await ingot('node list --state installing -o name')).stdout).toBe(`${id}\n`);
  const shown = (await ingot(`node show ${id}`)).stdout;
  expect(shown).toMatch(/install_progress: +45/);
  expect(shown).toMatch(/\ninventory: +from the installer, 20/);
  expect(shown).toMatch(/\n {2}CPU: +Fast, 2 sockets\n {2}disk: +sda, 1 TiB, Disk {1,2}\[31m, serial D1\n/);
  expect(JSON.parse((await ingot(`node show ${id} -o json`)).stdout).inventory.cpu).toEqual(inventory.cpu);
  expect((await ingot('image list')).stdout).toMatch(/ubuntu-22.04 +20 MiB +raw +20 MiB/);
  await report(server, mac, 'complete', proofOf(script, token, mac), token);
  expect((await ingot(`node state ${id} active`)).stdout).toBe(`${id} is active\n`);
  const history = (await ingot(`node history ${id}`)).stdout;
  expect(history).toMatch(/installed +active +admin:/);
  expect(history).toMatch(/discovered +pending +admin:\S+ +cabled/);
  expect((await ingot(`node show ${id}`)).stdout).toMatch(/state: +active/);
  expect((await ingot(`node show ${id}`)).stdout).toMatch(/\nerasure: +-\n/);
  const misplaced = await ingot(`node state ${id} migrating --full-overwrite`);
  expect(misplaced.stderr).toContain('is for the state deprovisioning');
  expect((await ingot(`node state ${id} deprovisioning --full-overwrite`)).stdout).toBe(
    `${id} is deprovisioning\n`,
  );
  const eraser = await boot(server, mac);
  expect(eraser.script).toContain('ingot.overwrite=whole');
  const disks = [
    { name: 'sda', serial: 'D1', method: 'overwrite-full', result: 'erased', verified: 'no marks' },
    { name: 'sdb', method: 'overwrite-partial', result: 'partial', not_done: 'the middle \u001b[31m' },
  ];
  const skipped = [{ name: 'sdc', reason: 'removable' }];
  await report(server, mac, 'complete', { erase: { disks, skipped } }, eraser.token);
  const erased = (await ingot(`node show ${id}`)).stdout;
  expect(erased).toMatch(/\nstate: +retired\n/);
  expect(erased).toMatch(/\nerasure: +partly erased, 20\S+\n/);
  expect(erased).toMatch(/\n {2}sda: +erased by overwrite-full; serial D1; read back: no marks\n/);
  expect(erased).toMatch(/\n {2}sdb: +partial by overwrite-partial; not done: the middle +\[31m\n/);
  expect(erased).toMatch(/\n {2}sdc: +not touched: removable\n/);
  expect((await ingot('workflow remove ubuntu')).code).toBe(0);
});

it('lists every machine that is in the service layer, by its coarse state, and what was removed only if asked', async () => {
  await server.machines.registerMachine({
    machine: { machineId: 'bare', spec: { macAddresses: ['52:54:00:aa:00:01'] } },
  });
  for (const service of ['active', 'quarantined', 'deleted'] as const) {
    const spec = { macAddresses: [newMac()] };
    await server.machines.registerMachine({ machine: { machineId: `in-${service}`, spec } });
    await server.sql('UPDATE machines SET service = $2, pool = $3 WHERE machine_id = $1', [
      `in-${service}`,
      service,
      'gpu',
    ]);
  }
  const { stdout } = await ingot('node list');
  expect(stdout.split('\n')[0]).toMatch(/^NODE_ID +SERVICE +POOL +HOSTNAME +MAC_ADDRESS +TAGS *$/);
  expect(stdout).toMatch(/^in-active +active +gpu +- +52:54:/m);
  expect(stdout).toMatch(/^in-quarantined +quarantined +gpu /m);
  expect(stdout).not.toContain('in-deleted');
  // In no layer but the operator's: `ingot list` has it.
  expect(stdout).not.toContain('bare');
  expect((await ingot('node list --service quarantined -o name')).stdout).toBe('in-quarantined\n');
  expect((await ingot('node list --service deleted -o name')).stdout).toBe('in-deleted\n');
  expect((await ingot('node list --search IN-ACT -o name')).stdout).toBe('in-active\n');
  expect((await ingot('node list --service sleeping')).code).toBe(64);
});

it('errors say what is wrong and what to do', async () => {
  const mac = newMac();
  await boot(server, mac);
  const id = (await ingot(`node list --mac ${mac} -o name`)).stdout.trim();
  const illegal = await ingot(`node state ${id} active`);
  expect(illegal).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("Valid transitions: ['pending'"),
  });
  expect(await ingot('node show no-such')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('ingot node list'),
  });
  expect((await ingot('image add x missing.img')).stderr).toContain('ENOENT');
  expect((await ingot('node list', { INGOT_HTTP_URL: 'ftp://x' })).code).toBe(64);
  expect(await ingot('node list', { INGOT_HTTP_URL: 'http://127.0.0.1:9' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no server answers at http://127.0.0.1:9'),
  });
  expect((await ingot('node list', { INGOT_TOKEN: 'wrong' })).code).toBe(4);
});

it.each(['00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', '33:33:00:00:00:01'])(
  'refuses the address %s, and registers nothing with it',
  async (mac) => {
    const { code, stderr } = await ingot(`register no-mac --mac ${mac}`);
    expect(code).toBe(64);
    expect(stderr).toMatch(/spec\.mac_addresses\[0\]: is .* which is no machine's/);
    expect((await ingot('show no-mac')).code).not.toBe(0);
    expect((await ingot(`node list --mac ${mac}`)).stderr).toContain("which is no machine's");
  },
);

it('counts, finds the stalled, and changes many nodes by name or by filter', async () => {
  await prepareInstall(server);
  const macs = [newMac(), newMac(), newMac()];
  for (const mac of macs) await boot(server, mac);
  const ids: string[] = [];
  for (const mac of macs) ids.push((await ingot(`node list --mac ${mac} -o name`)).stdout.trim());
  const [first = '', second = '', third = ''] = ids;
  expect((await ingot('node stats')).stdout).toMatch(/discovered: +\d+\n.*total: +\d+\n.*stalled: +0\n/s);
  expect(JSON.parse((await ingot('node stats -o json')).stdout)).toMatchObject({
    by_state: { retired: expect.any(Number) },
  });
  expect((await ingot('node stalled')).stderr).toContain('no installation is stalled');

  const tagged = await ingot(`node tag ${first} ${second} --add Batch --add gpu`);
  expect(tagged).toMatchObject({ code: 0, stdout: `${first} has batch, gpu\n${second} has batch, gpu\n` });
  expect(await ingot('node tag --tag BATCH --remove gpu')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--yes'),
  });
  const untagged = await ingot('node tag --tag batch --remove gpu -y');
  expect(untagged.stdout.split('\n').sort()).toEqual(
    ['', `${first} has batch`, `${second} has batch`].sort(),
  );
  expect((await ingot(`node workflow install ${first}`)).stdout).toBe(`${first} has the workflow install\n`);
  expect((await ingot(`node edit ${first} --vendor HPE --arch ARM64 --group lab`)).stdout).toBe(
    'vendor: HPE\narch: arm64\ngroup: lab\n',
  );
  expect((await ingot(`node edit ${first} --clear vendor arch`)).stdout).toBe('vendor: -\narch: x86_64\n');
  expect((await ingot(`node edit ${first} --vendor x --clear vendor`)).code).toBe(64);
  expect((await ingot(`node edit ${first}`)).code).toBe(64);
  expect((await ingot('node tag')).code).toBe(64);
  expect((await ingot('node tag --add x')).stderr).toContain('which node?');
  expect((await ingot(`node tag ${first} --state pending --add x`)).code).toBe(64);

  const approved = await ingot(`node approve ${first} no-such ${second} --comment all`);
  expect(approved).toMatchObject({ code: 5, stdout: `${first} is pending\n${second} is pending\n` });
  expect(approved.stderr).toContain('no-such is refused: Node not found');
  expect(approved.stderr).toContain('3 nodes: 2 changed, 1 refused');
  expect(await ingot('node approve no-such')).toMatchObject({ code: 1, stdout: '' });
  expect(JSON.parse((await ingot(`node approve ${first} ${third} -o json`)).stdout)).toMatchObject([
    { id: first, success: false, reason: 'ILLEGAL_TRANSITION' },
    { id: third, success: true, state: 'pending' },
  ]);
  expect((await ingot('node approve --tag batch --yes')).stderr).toContain('no node matches');

  await report(server, macs[0] ?? '', 'started');
  await server.sql(
    `UPDATE nodes SET state_changed_at = now() - interval '2 days', last_seen_at = now() - interval '1 day' WHERE machine_id = $1`,
    [first],
  );
  expect((await ingot('node stalled -o name')).stdout).toBe(`${first}\n`);
});
