/** Everything that MaasControl can do, over real HTTP against a simulated MAAS in a separate process. */
import { afterEach, describe, expect, it } from 'vitest';
import { BMC_PASSWORD, failureOf, maasAt } from './call.ts';
import {
  at,
  call,
  create,
  DEPLOYMENT,
  maas,
  newMac,
  PLAIN_RELEASE,
  SPEED,
  seen,
  setUpClientSite,
  simulator,
  untilStatus,
} from './client-site.ts';

setUpClientSite();

describe('machines', () => {
  it('are added as New, with the power credentials of the site', async () => {
    const machine = await create('52:54:00:AA:00:01');
    expect(machine).toMatchObject({ status: 'New', power: 'off', macAddresses: ['52:54:00:aa:00:01'] });
    expect(await simulator.admin.machine(machine.systemId)).toMatchObject({
      power_type: 'ipmi',
      power_parameters: {
        power_address: '10.0.0.7',
        power_user: 'admin',
        power_pass: BMC_PASSWORD,
        power_driver: 'LAN_2_0',
      },
    });
  });

  it('are found by any of their addresses, and once', async () => {
    const macs = [newMac(), newMac()];
    const { system_id: id } = await simulator.admin.addMachine({ mac_addresses: macs });
    const found = await maas.findByMac(call, [...macs.map((mac) => mac.toUpperCase()), newMac()]);
    expect(found.map(({ systemId }) => systemId)).toEqual([id]);
    expect(await maas.findByMac(call, [newMac()])).toEqual([]);
    expect(await maas.findByMac(call, [])).toEqual([]);
  });

  it('are all found where two have the same address', async () => {
    const mac = newMac();
    await at('New', mac);
    await simulator.admin.fault({ fault: 'conflicting_candidates', mac });
    expect(await maas.findByMac(call, [mac])).toHaveLength(2);
  });

  it('with an address that another has are refused', async () => {
    const mac = newMac();
    await at('New', mac);
    const failure = await failureOf(create(mac));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_REFUSED' });
    expect(failure.message).toContain('already in use');
  });

  it('are read one by one and in lists of many', async () => {
    const macs = Array.from({ length: 120 }, () => newMac());
    const ids = await Promise.all(macs.map((mac) => at('Ready', mac)));
    const before = (await simulator.admin.requests()).length;
    const byId = await maas.list(call, [...ids, 'nobody']);
    expect(byId.machines.map(({ systemId }) => systemId).sort()).toEqual([...ids].sort());
    const byMac = await maas.listByMac(call, [...macs, newMac()]);
    expect(byMac.machines.map(({ systemId }) => systemId).sort()).toEqual([...ids].sort());
    expect([byId.unread, byMac.unread]).toEqual([[], []]);
    const asked = (await simulator.admin.requests()).slice(before);
    expect(asked).toHaveLength(4);
    expect(Math.max(...asked.map(({ query }) => query.length))).toBeLessThan(6_100);
    expect(await maas.read(call, 'nobody')).toBeNull();
    expect(await maas.list(call, [])).toEqual({ machines: [], unread: [] });
  });

  it('have every status of MAAS by its name', async () => {
    const names = [
      'New',
      'Missing',
      'Reserved',
      'Retired',
      'Broken',
      'Releasing failed',
      'Failed testing',
      'Testing',
    ];
    for (const name of names) expect((await seen(await at(name))).status).toBe(name);
  });

  it('are removed, and a second time it is fine', async () => {
    const id = await at('Ready');
    await maas.remove(call, id);
    expect(await maas.read(call, id)).toBeNull();
    await maas.remove(call, id);
  });

  it('of a name that no MAAS makes are not asked for', async () => {
    const before = (await simulator.admin.requests()).length;
    expect(await failureOf(maas.read(call, '../users'))).toMatchObject({ class: 'needs_human' });
    expect(await simulator.admin.requests()).toHaveLength(before);
  });
});

describe('the life of a machine', () => {
  it('goes from New over Ready and Deployed back to Ready', async () => {
    const { systemId } = await create();
    await maas.commission(call, systemId);
    expect((await seen(systemId)).status).toBe('Commissioning');
    const ready = await untilStatus(systemId, 'Ready');
    expect(ready.bootDiskId).not.toBeNull();
    await maas.deploy(call, systemId, DEPLOYMENT);
    expect((await seen(systemId)).status).toBe('Deploying');
    const deployed = await untilStatus(systemId, 'Deployed');
    expect(deployed.power).toBe('on');
    expect((await simulator.admin.machine(systemId)).user_data).toBe(DEPLOYMENT.userData);
    await maas.release(call, systemId, { ...PLAIN_RELEASE, erase: true, quickErase: true });
    expect((await seen(systemId)).status).toBe('Disk erasing');
    expect((await untilStatus(systemId, 'Ready')).power).toBe('off');
  });

  it('can be stopped while it is commissioned or deployed, and nowhere else', async () => {
    await simulator.admin.setSpeed(1);
    const { systemId } = await create();
    await maas.commission(call, systemId);
    await maas.abort(call, systemId, 'not now');
    expect((await seen(systemId)).status).toBe('New');
    const other = await at('Ready');
    await maas.deploy(call, other, DEPLOYMENT);
    await maas.abort(call, other, 'not now');
    expect((await seen(other)).status).toBe('Allocated');
    await simulator.admin.setSpeed(SPEED);
    const failure = await failureOf(maas.abort(call, other, 'not now'));
    expect(failure).toMatchObject({ class: 'retryable', code: 'MAAS_CONFLICT' });
    expect(failure.message).toContain('is in state Allocated');
  });

  it('is not released again where it is Ready already', async () => {
    const id = await at('Ready');
    await maas.release(call, id, PLAIN_RELEASE);
    expect((await seen(id)).status).toBe('Ready');
  });

  it('ends as Broken where a user marks it so', async () => {
    const id = await at('Deployed');
    await maas.markBroken(call, id, 'fan 3 is dead');
    expect(await seen(id)).toMatchObject({ status: 'Broken', statusMessage: 'fan 3 is dead' });
    expect(await failureOf(maas.markBroken(call, await at('Ready'), 'x'))).toMatchObject({
      code: 'MAAS_FORBIDDEN',
    });
  });

  it('is refused with the words of MAAS where the request is wrong', async () => {
    const id = await at('Ready');
    const failure = await failureOf(maas.deploy(call, id, { ...DEPLOYMENT, distroSeries: 'warty' }));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_REFUSED' });
    expect(failure.message).toContain("'ubuntu/warty' is not a valid distro_series");
    expect(failure.message).toContain('(deploy');
  });

  it('is a conflict where the machine is not in a state for it, and a missing one needs a human', async () => {
    expect(await failureOf(maas.deploy(call, await at('New'), DEPLOYMENT))).toMatchObject({
      class: 'retryable',
      code: 'MAAS_CONFLICT',
    });
    expect(await failureOf(maas.commission(call, 'gone42'))).toMatchObject({
      class: 'needs_human',
      code: 'MAAS_NOT_FOUND',
    });
  });
});

describe('whose a machine is', () => {
  const given = (owner: string) =>
    at('Deployed').then(async (id) => {
      await simulator.admin.changeMachine(id, { owner });
      return id;
    });

  it('is asked once for each key, and only where it is owned', async () => {
    const own = maasAt(simulator);
    const before = (await simulator.admin.requests()).length;
    for (const id of [await at('Deployed'), await at('Deployed')])
      await own.maas.release(call, id, PLAIN_RELEASE);
    const asked = (await simulator.admin.requests()).slice(before).filter(({ op }) => op === 'whoami');
    expect(asked).toHaveLength(1);
    expect(await own.maas.whoAmI(call)).toEqual({ username: 'ingot', isAdmin: true });
    own.remove();
  });

  it('stops a deployment, a release and an abort before they are sent', async () => {
    const id = await given('alice');
    const before = (await simulator.admin.requests()).length;
    for (const work of [
      () => maas.release(call, id, PLAIN_RELEASE),
      () => maas.deploy(call, id, DEPLOYMENT),
      () => maas.abort(call, id, ''),
    ]) {
      const failure = await failureOf(work());
      expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_MACHINE_OWNED' });
      expect(failure.message).toContain('belongs to alice in site-a, and we are ingot there');
    }
    const sent = (await simulator.admin.requests()).slice(before);
    expect(sent.every(({ method }) => method === 'GET')).toBe(true);
  });

  describe('where the server does not report our user', () => {
    const strange = async (settings: Readonly<Record<string, unknown>> = {}) => {
      await simulator.admin.fault({ fault: 'not_found', path: 'users/', times: null });
      return maasAt(simulator, settings);
    };
    afterEach(() => simulator.admin.clearFaults());

    it('what anyone has counts as another user’s, and the refusal says what to configure', async () => {
      const { maas: unknown, remove } = await strange();
      const id = await given('ingot');
      for (const work of [
        () => unknown.release(call, id, PLAIN_RELEASE),
        () => unknown.abort(call, id, ''),
        () => unknown.remove(call, id),
      ]) {
        const failure = await failureOf(work());
        expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_MACHINE_OWNED' });
        expect(failure.message).toContain('belongs to ingot in site-a, which does not say who we are');
        expect(failure.message).toContain('username');
      }
      expect((await seen(id)).status).toBe('Deployed');
      remove();
    });

    it('the configuration may name us', async () => {
      const { maas: named, remove } = await strange({ username: 'ingot' });
      await named.release(call, await given('ingot'), PLAIN_RELEASE);
      expect(await failureOf(named.release(call, await given('alice'), PLAIN_RELEASE))).toMatchObject({
        code: 'MAAS_MACHINE_OWNED',
      });
      remove();
    });

    it('what MAAS reports takes precedence over the configuration', async () => {
      const { maas: named, remove } = maasAt(simulator, { username: 'alice' });
      expect(await failureOf(named.release(call, await given('alice'), PLAIN_RELEASE))).toMatchObject({
        code: 'MAAS_MACHINE_OWNED',
      });
      remove();
    });

    it.each(['deploy', 'commission'] as const)(
      'the user that MAAS names as the owner of what we %s is ours, and no other is',
      async (op) => {
        const { maas: learning, remove } = await strange();
        const [ours, alices] = [await given('ingot'), await given('alice')];
        if (op === 'deploy') await learning.deploy(call, await at('Ready'), DEPLOYMENT);
        else await learning.commission(call, await at('Ready'));
        await learning.release(call, ours, PLAIN_RELEASE);
        expect(await failureOf(learning.release(call, alices, PLAIN_RELEASE))).toMatchObject({
          code: 'MAAS_MACHINE_OWNED',
        });
        remove();
      },
    );

    it('is asked again, so that one strange answer does not count forever', async () => {
      const { maas: patient, remove } = await strange();
      const id = await given('ingot');
      await failureOf(patient.release(call, id, PLAIN_RELEASE));
      await simulator.admin.clearFaults();
      await patient.release(call, id, PLAIN_RELEASE);
      remove();
    });

    it('a lock counts as ever', async () => {
      const { maas: unknown, remove } = await strange({ username: 'ingot' });
      const { system_id: locked } = await simulator.admin.addMachine({
        ...{ mac_addresses: [newMac()], status: 'Deployed', locked: true },
      });
      expect(await failureOf(unknown.release(call, locked, PLAIN_RELEASE))).toMatchObject({
        code: 'MAAS_MACHINE_LOCKED',
      });
      remove();
    });
  });

  it('stops a removal, too', async () => {
    const id = await given('alice');
    expect(await failureOf(maas.remove(call, id))).toMatchObject({ code: 'MAAS_MACHINE_OWNED' });
    expect((await seen(id)).status).toBe('Deployed');
  });
});
