/** A server with an image and an install profile, for machines that boot from it. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { call, createNode, setState } from './rest.ts';

export let server: TestServer;

export let dataDir: string;

export const image = randomBytes(100_000);

export const sha256 = createHash('sha256').update(image).digest('hex');

export function upload(name: string, bytes: Buffer, digest: string, headers: Record<string, string> = {}) {
  return fetch(`${server.httpUrl}/api/v1/images/${name}/content?sha256=${digest}`, {
    method: 'PUT',
    headers: {
      'content-type': 'application/octet-stream',
      authorization: `Bearer ${server.adminToken}`,
      ...headers,
    },
    body: new Uint8Array(bytes),
  });
}

/** As it is written: `fetch` would tidy the path up first. */
export function getRaw(
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(server.httpUrl);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, headers }, (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end();
  });
}

/** A node that waits to be installed with the image. */
export async function pendingNode() {
  const node = await createNode(server, { workflow: 'ubuntu' });
  await setState(server, node.id, 'pending');
  return node;
}

export function setUpBootSite(): void {
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'ingot-boot-test-'));
    mkdirSync(join(dataDir, 'boot', 'installer'), { recursive: true });
    writeFileSync(join(dataDir, 'boot', 'installer', 'vmlinuz'), 'a kernel');
    writeFileSync(join(dataDir, 'secret.txt'), 'not for machines');
    server = await startTestServer({ dataDir, netboot: { max_discovered: 60 } });
    await upload('ubuntu-22.04', image, sha256);
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  beforeAll(async () => {
    const { status } = await call(server, 'POST', '/workflows', {
      name: 'ubuntu',
      cmdline:
        'console=ttyS0 ingot.url={server_url} ingot.mac={mac} ingot.token={boot_token} ingot.image={image_url} ingot.sha256={image_sha256} ingot.size={image_size} ingot.post={post_install}',
      image: { name: 'ubuntu-22.04' },
    });
    expect(status).toBe(201);
  });
}
