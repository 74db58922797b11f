// @module-tag extended: sessions.test.ts and new-token.test.ts have tokens that end.
/** How tokens live and end: expiry, rotation, use, and what becomes of open streams. */
import { readFileSync, statSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import {
  OperationEvent_Kind,
  OperationService,
  WatchOperationsRequestSchema,
} from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { launch } from '../cli/harness.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { fresh } from './fleet.ts';

let server: TestServer;
let replica: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  replica = await startTestServer({ database: server.database });
});
afterAll(async () => {
  await replica?.stop();
  await server?.stop();
});

const DAY_MS = 86_400_000;

async function newToken(request: { readonly expiresInMs?: number; readonly noExpiry?: true } = {}) {
  const name = fresh('token');
  const { expiresInMs, noExpiry = false } = request;
  const expiry = expiresInMs ? { expiresAt: timestampFromMs(Date.now() + expiresInMs) } : { noExpiry };
  const { token, secret } = await server.admin.createToken({ name, role: 'viewer', ...expiry });
  return { name, secret, expiresAt: token?.expiresAt && timestampDate(token.expiresAt) };
}

const isLetIn = (secret: string, at = server) =>
  at
    .client(MachineService, secret)
    .listMachines({})
    .then(
      () => true,
      () => false,
    );

const listed = async (name: string) =>
  (await server.admin.listTokens({})).tokens.find((token) => token.name === name);

describe('expiry', () => {
  test('is 90 days away unless the creator names another, and absent only if asked for', async () => {
    const { expiresAt } = await newToken();
    expect((expiresAt?.getTime() ?? 0) / DAY_MS).toBeCloseTo(Date.now() / DAY_MS + 90, 1);
    expect((await newToken({ noExpiry: true })).expiresAt).toBeUndefined();
  });

  test('is one or the other', async () => {
    const expiresAt = timestampFromMs(Date.now() + DAY_MS);
    const asked = { name: 'both', role: 'viewer', expiresAt, noExpiry: true };
    expect(await refusal(server.admin.createToken(asked))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      violations: [{ field: 'no_expiry' }],
    });
  });
});

describe('rotation', () => {
  test('gives another secret, and the former one works until the overlap is over', async () => {
    const before = await newToken({ expiresInMs: 10 * DAY_MS });
    expect(await isLetIn(before.secret)).toBe(true);
    const rotated = await server.admin.rotateToken({ name: before.name });
    expect(await isLetIn(rotated.secret, replica)).toBe(true);
    expect(await isLetIn(before.secret)).toBe(true);
    expect(rotated.token).toMatchObject({ name: before.name, role: 'viewer' });
    const former = rotated.token?.previousExpiresAt;
    expect((former ? timestampDate(former).getTime() : 0) / DAY_MS).toBeCloseTo(Date.now() / DAY_MS + 1, 1);
    // The overlap is over.
    await server.sql('UPDATE tokens SET previous_expires_at = now() WHERE name = $1', [before.name]);
    await server.sql(`SELECT pg_notify('ingot', 'tokens')`);
    await until(
      () => isLetIn(before.secret),
      (letIn) => !letIn,
    );
    expect(await isLetIn(rotated.secret)).toBe(true);
  });

  test('without an overlap ends the former secret at once, on every replica', async () => {
    const before = await newToken();
    expect(await isLetIn(before.secret, replica)).toBe(true);
    const { secret } = await server.admin.rotateToken({ name: before.name, overlapSeconds: 0n });
    expect(await isLetIn(before.secret)).toBe(false);
    await until(
      () => isLetIn(before.secret, replica),
      (letIn) => !letIn,
      4_000,
    );
    expect(await isLetIn(secret, replica)).toBe(true);
  });

  test('lets the new secret live as long again', async () => {
    const { name } = await newToken({ expiresInMs: 10 * DAY_MS });
    await server.sql(
      `UPDATE tokens SET created_at = created_at - interval '4 days', expires_at = expires_at - interval '4 days'
       WHERE name = $1`,
      [name],
    );
    const { token } = await server.admin.rotateToken({ name });
    const ends = token?.expiresAt ? timestampDate(token.expiresAt).getTime() : 0;
    expect(ends / DAY_MS).toBeCloseTo(Date.now() / DAY_MS + 10, 1);
  });

  test('revokes both secrets when the token is revoked', async () => {
    const before = await newToken();
    const { secret } = await server.admin.rotateToken({ name: before.name });
    await server.admin.revokeToken({ name: before.name });
    expect([await isLetIn(before.secret), await isLetIn(secret)]).toEqual([false, false]);
    expect(await refusal(server.admin.rotateToken({ name: before.name }))).toMatchObject({
      reason: 'TOKEN_NOT_FOUND',
    });
  });

  test('of the admin token writes its file, which the command line and a restart use', async () => {
    const { adminTokenFile } = server;
    const before = readFileSync(adminTokenFile, 'utf8');
    const line = `token rotate admin --overlap 1h --file ${adminTokenFile}`;
    const { code, stderr } = await launch(server.grpcAddress, line, { env: { INGOT_TOKEN: before.trim() } })
      .ended;
    expect([code, stderr]).toEqual([0, expect.stringContaining(`written to ${adminTokenFile}`)]);
    const after = readFileSync(adminTokenFile, 'utf8').trim();
    expect(after).not.toBe(before.trim());
    expect(statSync(adminTokenFile).mode & 0o777).toBe(0o600);
    expect(await server.client(FleetService, after).whoAmI({})).toMatchObject({ name: 'admin' });
  });

  test('changes nothing where the file cannot be written', async () => {
    const { name, secret } = await newToken();
    const file = join(server.bootDir, 'no/such/folder/token');
    const run = launch(server.grpcAddress, `token rotate ${name} --overlap 0s --file ${file}`, {
      env: { INGOT_TOKEN: server.adminToken },
    });
    expect((await run.ended).code).not.toBe(0);
    expect(await isLetIn(secret)).toBe(true);
    expect((await listed(name))?.rotatedAt).toBeUndefined();
  });
});

test('a token shows who created it, and when and from where it was used last', async () => {
  const { name, secret } = await newToken();
  expect(await listed(name)).toMatchObject({ createdBy: 'admin', lastUsedFrom: '' });
  await isLetIn(secret);
  const used = await until(
    () => listed(name),
    (token) => token?.lastUsedAt !== undefined,
    20_000,
  );
  expect(used?.lastUsedFrom).toBe('127.0.0.1');
});

describe('an idle stream', () => {
  /** It has sent all there is, and waits for changes that never come. */
  async function idleStream(secret: string) {
    const stream = replica.client(OperationService, secret).watchOperations({
      filter: 'machine_id=no-such-machine',
      sendSynced: true,
    });
    const messages = stream[Symbol.asyncIterator]();
    expect((await messages.next()).value?.kind).toBe(OperationEvent_Kind.SYNCED);
    const ended = refusal({ [Symbol.asyncIterator]: () => messages });
    return { ended };
  }

  test('ends within a second after its token is revoked on another replica', async () => {
    const { name, secret } = await newToken();
    const { ended } = await idleStream(secret);
    const startedAt = performance.now();
    await server.admin.revokeToken({ name });
    expect(await ended).toMatchObject({ code: 'UNAUTHENTICATED' });
    // Well before the streams are checked without a notice.
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });

  test('does not start for a call whose token is revoked between its headers and its message', async () => {
    const { name, secret } = await newToken();
    expect(await isLetIn(secret, replica)).toBe(true);
    const session = connectHttp2(`http://${replica.grpcAddress}`);
    try {
      const call = session.request({
        ':method': 'POST',
        ':path': '/baremetal.v2.OperationService/WatchOperations',
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: `Bearer ${secret}`,
      });
      // Later on the same connection, and answered: the call before it has been let in.
      await new Promise((resolve) => session.ping(resolve));
      expect(await isLetIn(secret, replica)).toBe(true);
      await server.admin.revokeToken({ name });
      await until(
        () => isLetIn(secret, replica),
        (letIn) => !letIn,
      );
      const status = new Promise<unknown>((resolve) => {
        call.on('trailers', (trailers) => resolve(trailers['grpc-status']));
        call.on('response', (headers) => headers['grpc-status'] && resolve(headers['grpc-status']));
      });
      const received: Buffer[] = [];
      call.on('data', (data: Buffer) => received.push(data));
      const message = toBinary(
        WatchOperationsRequestSchema,
        create(WatchOperationsRequestSchema, { sendSynced: true }),
      );
      call.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
      expect(await status).toBe('16');
      expect(received).toEqual([]);
    } finally {
      session.destroy();
    }
  });

  test('of reflection ends, too', async () => {
    const { name, secret } = await newToken();
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${secret}`);
    const pass = (bytes: Buffer) => bytes;
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    const stream = replica.channel.makeBidiStreamRequest(path, pass, pass, metadata);
    const ended = new Promise<number>((resolve) =>
      stream.on('error', ({ code }: grpc.ServiceError) => resolve(code)),
    );
    const answered = new Promise((resolve) => stream.once('data', resolve));
    // list_services
    stream.write(Buffer.from([0x3a, 0x00]));
    await answered;
    await server.admin.revokeToken({ name });
    expect(await ended).toBe(grpc.status.UNAUTHENTICATED);
  });

  test('ends when its token expires', async () => {
    const { secret } = await newToken({ expiresInMs: 1_500 });
    const { ended } = await idleStream(secret);
    expect(await ended).toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  test('goes on while its token is rotated with an overlap', async () => {
    const { name, secret } = await newToken();
    const { ended } = await idleStream(secret);
    await server.admin.rotateToken({ name });
    const first = await Promise.race([ended, isLetIn(secret, replica)]);
    expect(first).toBe(true);
    await server.admin.revokeToken({ name });
    expect(await ended).toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});
