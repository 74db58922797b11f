// @module-tag extended: redfish-verbs.test.ts rotates a password; this ends the server at every point of it.
/**
 * The password of a BMC, rotated: against a simulated BMC over Redfish and every kind of place that a password is kept in, with a crash at
 * every point. The generic proofs of the step are in src/steps/step-proofs.test.ts.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createCredentialSources,
  credentialsConfiguration,
} from '../../src/connections/credential-source.ts';
import type { Memo } from '../../src/domain/operation/step.ts';
import { StepFailure } from '../../src/engine/step-handler.ts';
import type { BmcAdministration } from '../../src/providers/bmc-administration.ts';
import { newPassword } from '../../src/providers/datacenter/bmc/bmc-password.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { NO_CONTROL_PLANE } from '../../src/steps/control-plane.fixture.ts';
import { defineStep, handlerFor } from '../../src/steps/registry.ts';
import { machineWith, unusedKey } from '../datacenter/bmc-site.ts';
import { createSite, type Site } from '../datacenter/site.ts';
import { ANY_ADDRESS } from '../parts/any-address.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import { VaultSimulator } from '../parts/vault/simulator.ts';

const OLD = 'Old-Password-4711';
const key = unusedKey();
let folder: string;
let bmc: RedfishSimulator;
let vault: VaultSimulator;
let sites: Site[] = [];

beforeAll(async () => {
  vault = await VaultSimulator.start();
});
afterAll(async () => {
  await vault?.stop();
  key.remove();
});

/** Where the password is kept: how it is put there and read, and the configuration that names it. */
const KEPT = {
  'a file with nothing else': {
    put: (password: string) => writeFileSync(join(folder, 'password'), `${password}\n`, { mode: 0o640 }),
    read: () => readFileSync(join(folder, 'password'), 'utf8').trim(),
    bmc: () => ({ password_file: join(folder, 'password') }),
  },
  'a file of a directory, as JSON': {
    put: (password: string) => {
      mkdirSync(join(folder, 'machines'), { recursive: true });
      writeFileSync(
        join(folder, 'machines', 'm-1'),
        JSON.stringify({ username: 'root', password, note: 'rack 7' }),
      );
    },
    read: () => {
      const { password, note } = JSON.parse(readFileSync(join(folder, 'machines', 'm-1'), 'utf8'));
      expect(note).toBe('rack 7');
      return password as string;
    },
    bmc: () => ({ credentials: 'directory' }),
  },
  'a Vault': {
    put: (password: string) =>
      vault.put('secret/data/bmc/m-1', { username: 'root', password, note: 'rack 7' }),
    read: () => {
      const found = vault.engine('secret').read('bmc/m-1')?.data as Record<string, unknown>;
      expect(found).toEqual({ username: 'root', password: found.password, note: 'rack 7' });
      return found.password as string;
    },
    bmc: () => ({ credentials: 'vault' }),
  },
} as const;
type Place = keyof typeof KEPT;
const PLACES = Object.keys(KEPT) as Place[];

/** A process of its own: nothing of an earlier one is remembered. */
function newProvider(place: Place): Provider {
  const credentials = createCredentialSources(
    credentialsConfiguration.parse({
      directory: { kind: 'directory', path: join(folder, 'machines') },
      vault: {
        kind: 'vault',
        address: vault.url,
        path: 'bmc/{machine_id}',
        auth: { method: 'token', token_file: join(folder, 'token') },
      },
    }),
    { rule: ANY_ADDRESS.machines, monotonicNow: () => performance.now() },
  );
  writeFileSync(join(folder, 'token'), vault.rootToken);
  const site = createSite(
    { user: 'root', keyFile: key.file, knownHostsLine: '# no host' },
    {
      credentials,
      bmc: { user: 'root', timeout_seconds: 2, redfish: { plaintext: 'allowed' }, ...KEPT[place].bmc() },
    },
  );
  sites.push(site);
  return site.provider;
}

class Death extends Error {}

interface Run {
  readonly points: number;
  readonly logs: readonly string[];
  readonly memos: readonly string[];
}

const STEP = defineStep({
  name: 'rotate',
  kind: 'rotate-password',
  config: {},
  timeoutSeconds: 60,
  maxRetries: 0,
});

/** Runs the step, dies at the given point, and goes on with another process. Every call and every save has a point before and after it. */
async function rotate(
  place: Place,
  { dieAt = -1, way = 'forward' as 'forward' | 'undo' } = {},
): Promise<Run> {
  let point = 0;
  const pass = () => {
    if (point++ === dieAt) throw new Death();
  };
  const logs: string[] = [];
  const memos: string[] = [];
  let memo: Memo = {};
  const machine = { ...machineWith(bmc.url), machineId: 'm-1' };
  const context = (checkHeld: () => void) => ({
    operationId: 'op-1',
    step: 'rotate',
    attempt: 1,
    round: 0,
    fence: 1,
    checkHeld,
    get memo() {
      return memo;
    },
    signal: new AbortController().signal,
    now: () => new Date(),
    log: (text: string) => logs.push(text),
    save: async (next: Memo) => {
      pass();
      memo = next;
      memos.push(JSON.stringify(next));
      pass();
    },
    effect: <T>(work: (signal: AbortSignal) => Promise<T>) => work(new AbortController().signal),
  });
  const disturbed = (provider: Provider): Provider => {
    const inner = provider.capabilities.bmc as BmcAdministration;
    const wrapped = Object.fromEntries(
      Object.entries(inner).map(([name, method]) => [
        name,
        async (...args: never[]) => {
          pass();
          const result = await (method as (...all: never[]) => unknown)(...args);
          pass();
          return result;
        },
      ]),
    );
    return {
      ...provider,
      capabilities: { ...provider.capabilities, bmc: wrapped as unknown as BmcAdministration },
    };
  };
  for (let life = 0; life < 3; life += 1) {
    const provider = newProvider(place);
    const handler = handlerFor(STEP, {
      machine,
      provider: disturbed(provider),
      controlPlane: NO_CONTROL_PLANE,
    });
    try {
      for (let pass = 0; pass < 20; pass += 1) {
        if (way === 'undo' && life > 0) {
          if ((await handler.undo?.(context(() => {})))?.result === 'done')
            return { points: point, logs, memos };
          continue;
        }
        if ((await handler.observe(context(() => {}))).seen === 'done') return { points: point, logs, memos };
        await handler.act(context(() => {}));
      }
      throw new Error('never done');
    } catch (error) {
      if (!(error instanceof Death)) throw error;
    } finally {
      await provider.stop?.();
    }
  }
  throw new Error('it died too often');
}

async function inPlace<T>(place: Place, work: () => Promise<T>): Promise<T> {
  folder = mkdtempSync(join(tmpdir(), 'ingot-rotation-'));
  bmc = await RedfishSimulator.start({ tls: null, password: OLD });
  KEPT[place].put(OLD);
  try {
    return await work();
  } finally {
    await bmc.stop();
    for (const site of sites) site.remove();
    sites = [];
    rmSync(folder, { recursive: true });
  }
}

const leftovers = () =>
  (readdirSync(folder, { recursive: true }) as string[]).filter((name) => name.includes('pending'));
const refusedLogins = () => bmc.refusedLogins;

describe.each(PLACES)('a password that is kept in %s', (place) => {
  it('is replaced there and on the BMC, and is in no log and in no memo', async () => {
    await inPlace(place, async () => {
      const { logs, memos } = await rotate(place);
      const now = KEPT[place].read();
      expect(now).not.toBe(OLD);
      expect(bmc.password).toBe(now);
      expect(leftovers()).toEqual([]);
      expect(refusedLogins()).toBe(0);
      for (const text of [...logs, ...memos])
        for (const secret of [OLD, now]) expect(text).not.toContain(secret);
      if (place === 'a file with nothing else')
        expect(statSync(join(folder, 'password')).mode & 0o777).toBe(0o640);
    });
  });

  it('is one that the BMC takes after a crash at every point, and at most one login is refused', async () => {
    const points = await inPlace(place, async () => (await rotate(place)).points);
    expect(points).toBeGreaterThan(12);
    for (let dieAt = 0; dieAt < points; dieAt += 1)
      await inPlace(place, async () => {
        await rotate(place, { dieAt });
        expect(KEPT[place].read(), `death at point ${dieAt}`).toBe(bmc.password);
        expect(bmc.password, `death at point ${dieAt}`).not.toBe(OLD);
        expect(leftovers()).toEqual([]);
        expect(refusedLogins(), `death at point ${dieAt}`).toBeLessThanOrEqual(1);
      });
  }, 120_000);

  it('is one that the BMC takes after a crash and a cancel at every point', {
    tags: ['extended'],
    timeout: 120_000,
  }, async () => {
    const points = await inPlace(place, async () => (await rotate(place)).points);
    for (let dieAt = 0; dieAt < points; dieAt += 1)
      await inPlace(place, async () => {
        await rotate(place, { dieAt, way: 'undo' });
        expect(KEPT[place].read(), `death at point ${dieAt}`).toBe(bmc.password);
        expect(leftovers()).toEqual([]);
      });
  });

  it('stays where the BMC takes no new one, and the refusal does not quote it', async () => {
    await inPlace(place, async () => {
      bmc.accounts.isStrict = true;
      const failure = await rotate(place).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StepFailure);
      expect((failure as StepFailure).failure.message).toContain('does not take the new password');
      expect(bmc.password).toBe(OLD);
    });
  });
});

it('new passwords are of every kind of letter, fit into IPMI, and differ', () => {
  const made = Array.from({ length: 200 }, newPassword);
  expect(new Set(made).size).toBe(200);
  for (const password of made)
    expect(password).toMatch(/^(?=.*[A-Z])(?=.*[a-z])(?=.*\d)(?=.*[-_])[A-Za-z0-9][\w-]{15}$/);
});
