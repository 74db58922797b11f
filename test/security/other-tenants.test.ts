// @module-tag extended: scopes.test.ts and tenants-apart.test.ts have the promises one by one.
/**
 * What a tenant reads does not depend on what others have: every method and route that reads is called before and after another
 * tenant comes, works and changes its things, and the answers are the same.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { SERVICES } from '../../src/surfaces/access/known-methods.ts';
import { run } from '../api/fleet.ts';
import { CALLS, ROUTES } from './matrix-requests.ts';
import { bearer } from './matrix-senders.ts';
import { addOwned, type MatrixSite, startMatrixSite, TENANT_ROLES } from './matrix-site.ts';
import { makeTenant, rest } from './tenants.ts';

let site: MatrixSite;

beforeAll(async () => {
  site = await startMatrixSite({ kinds: 'some' });
  // It would end by itself in the middle, which is an event of this tenant.
  const { tokens, consoleSessionId: sessionId } = site.acme;
  await site.server.client(ConsoleService, tokens.operator).closeConsole({ sessionId });
});
afterAll(() => site?.stop());

/** Reading the log of a serial console is an event itself. */
const READS = /^(get(?!ConsoleLog)|list|count|index|diff|explain|who|watch|stream|preview)/;
/**
 * docs/security.md has the exception: cursors count the events of the whole fleet. Times are those of the call, and a new preview has a name
 * of its own. A serial console that no one reads is closed after a while.
 */
const OF_THE_CALL =
  /cursor|revision|generatedAt|asOf|lastUsed|last_used|pageToken|GetConsole\.answer\.(?:state|way)/i;

type Answers = ReadonlyMap<string, unknown>;

async function readsOf(token: string): Promise<Answers> {
  const { server, acme } = site;
  const sender = bearer(server, token);
  const answers = new Map<string, unknown>();
  for (const service of SERVICES)
    for (const { localName, name } of service.methods.filter((method) => READS.test(method.localName))) {
      const method = `${service.typeName}/${name}`;
      const message = CALLS[method]?.request(acme, acme) ?? {};
      const { code, reason, text } = await sender.rpc(service, localName, message);
      answers.set(method, { code, reason, answer: text === '' ? null : JSON.parse(text) });
    }
  for (const [name, route] of Object.entries(ROUTES).filter(([name]) => name.startsWith('GET '))) {
    const { status, text, body } = await sender.rest('GET', route.path(acme));
    answers.set(name, { status, answer: body ?? text });
  }
  return answers;
}

/** Paths of values that differ, such as `ListMachines.answer.machines.0.phase`. */
function differences(one: unknown, other: unknown, path = ''): string[] {
  if (Object.is(one, other) || OF_THE_CALL.test(path)) return [];
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other)
    return [`${path}: ${JSON.stringify(one)} became ${JSON.stringify(other)}`];
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].flatMap((key) =>
    differences(
      (one as Record<string, unknown>)[key],
      (other as Record<string, unknown>)[key],
      `${path}.${key}`,
    ),
  );
}

function changesBetween(before: Answers, after: Answers): string[] {
  return [...before].flatMap(([method, answer]) => differences(answer, after.get(method), method));
}

/** A new tenant with all that a tenant can have, and the other one at work. */
async function othersAtWork(): Promise<void> {
  const { server, globex } = site;
  const umbrella = await makeTenant(server, 'umbrella', 6);
  await addOwned(server, umbrella);
  await run(server, 'REBOOT', globex.machineId);
  await server.machines.updateMachine({
    machine: { machineId: globex.machineId, labels: { secret: 'another' } },
    updateMask: { paths: ['labels'] },
  });
  await server.admin.flagMachine({ machineId: globex.machineId, flag: 1, reason: 'away' });
  const nodes = `/api/v1/nodes/${umbrella.machineId}`;
  await rest(server, server.adminToken, 'POST', `${nodes}/tags`, { tag: 'other' });
  await server.admin
    .removeMachine({ machineId: umbrella.machineId, reason: 'gone', requestId: 'umbrella-gone' })
    .catch(() => {});
}

test('what a tenant reads stays the same, whatever others do', { timeout: 120_000 }, async () => {
  const { acme } = site;
  const before = new Map<string, Answers>();
  for (const role of TENANT_ROLES) before.set(role, await readsOf(acme.tokens[role]));
  // What changes by itself is found by reading twice, in different seconds: times of calls have a field of seconds.
  await sleep(1_000);
  const itself = new Map<string, string[]>();
  for (const role of TENANT_ROLES)
    itself.set(role, changesBetween(before.get(role) ?? new Map(), await readsOf(acme.tokens[role])));
  await othersAtWork();
  for (const role of TENANT_ROLES) {
    const moving = new Set(itself.get(role)?.map((change) => change.slice(0, change.indexOf(':'))));
    const changes = changesBetween(before.get(role) ?? new Map(), await readsOf(acme.tokens[role]));
    expect(changes.filter((change) => !moving.has(change.slice(0, change.indexOf(':'))))).toEqual([]);
  }
  expect(before.get('viewer')?.size).toBeGreaterThan(50);
});
