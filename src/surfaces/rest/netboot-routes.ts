/** Images and workflows, for those who look after them and for the machines that are installed with them. */
import type { FastifyInstance } from 'fastify';
import type { Actor } from '../../domain/actor.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import { IMAGE_HEAD_BYTES, judgeImage } from '../../domain/install/image-format.ts';
import { IMAGE_RULE } from '../../domain/machine/machine-input.ts';
import type { ImageFiles } from '../../store/nodes/image-files.ts';
import {
  findImage,
  type Image,
  isDigestUsed,
  listImages,
  type NewImage,
  removeImage,
  storeImage,
} from '../../store/nodes/images.ts';
import { bootOf } from './boot-caller.ts';
import { bootFetchRoutes } from './boot-fetch-routes.ts';
import { type BootRouteDependencies, baseUrlOf, bootRoutes, fetchOf } from './boot-routes.ts';
import { answerFaults, callerWith } from './rest-errors.ts';
import { seedRoutes } from './seed-routes.ts';
import { sendFile } from './send-file.ts';
import { workflowRoutes } from './workflow-routes.ts';

export interface NetbootRouteDependencies extends BootRouteDependencies {
  readonly files: ImageFiles;
}

interface ByName {
  readonly Params: { readonly name: string };
}

const PIECE_BYTES = 16 * 1024 * 1024;

export async function netbootRoutes(app: FastifyInstance, parts: NetbootRouteDependencies): Promise<void> {
  answerFaults(app, parts);
  bootRoutes(app, parts);
  bootFetchRoutes(app, parts);
  imageRoutes(app, parts);
  workflowRoutes(app, parts);
  seedRoutes(app, { ...parts, baseUrlOf: (request) => baseUrlOf(parts, request) });
}

function imageRoutes(app: FastifyInstance, parts: NetbootRouteDependencies): void {
  const { nodes, files } = parts;
  const { database } = nodes;
  app.addContentTypeParser(
    'application/octet-stream',
    { parseAs: 'buffer', bodyLimit: PIECE_BYTES },
    (_request, body, done) => done(null, body),
  );

  app.get('/api/v1/images', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    const images = await listImages(database);
    return reply.send({ success: true, data: images.map(imageBody), total: images.length });
  });

  app.get<ByName>('/api/v1/images/:name', async (request, reply) => {
    await callerWith(parts, request, 'viewer');
    return reply.send({ success: true, data: imageBody(await knownImage(parts, request.params.name)) });
  });

  app.get<ByName>('/api/v1/images/:name/upload', async (request, reply) => {
    await callerWith(parts, request, 'admin');
    const { sha256 } = request.query as { sha256?: unknown };
    const offset = await files.uploaded(digestOf(sha256));
    return reply.send({ success: true, data: { offset, piece_bytes: PIECE_BYTES } });
  });

  /** One piece of an image; the last one makes it an image. */
  app.put<ByName>('/api/v1/images/:name/content', { bodyLimit: PIECE_BYTES }, async (request, reply) => {
    const { actor } = await callerWith(parts, request, 'admin');
    const name = imageNameOf(request.params.name);
    const { sha256: given } = request.query as { sha256?: unknown };
    const sha256 = digestOf(given);
    if (!Buffer.isBuffer(request.body) || request.body.length === 0) {
      throw invalidField('body', 'must be bytes, with content-type application/octet-stream');
    }
    const range = rangeOf(request.headers['content-range'], request.body.length);
    const isWhole = await files.append({ sha256, bytes: request.body, ...range });
    if (!isWhole) {
      const offset = range.start + request.body.length;
      return reply.code(202).send({ success: true, data: { offset }, message: 'more is awaited' });
    }
    const kind = await judgedFormat(parts, sha256, range.totalBytes);
    const image = await keepImage(parts, { name, sha256, sizeBytes: range.totalBytes, ...kind }, actor);
    return reply.code(201).send({ success: true, data: imageBody(image), message: `Image ${name} added` });
  });

  app.delete<ByName>('/api/v1/images/:name', async (request, reply) => {
    await callerWith(parts, request, 'admin');
    const removed = await removeImage(database, request.params.name);
    if (!removed) throw imageNotFound(request.params.name);
    if (!(await isDigestUsed(database, removed.sha256))) await files.remove(removed.sha256);
    return reply.send({ success: true, data: imageBody(removed), message: `Image ${removed.name} removed` });
  });

  /** An image may hold what not everybody shall read: it goes to the boot that installs it, and to those who may look. */
  app.get<ByName>('/api/v1/images/:name/content', async (request, reply) => {
    const { name } = request.params;
    const boot = await bootOf(parts.nodes.database, request);
    if (boot?.image !== name) await callerWith(parts, request, 'viewer');
    const image = await knownImage(parts, name);
    const file = { root: files.root, path: image.sha256 };
    if (boot?.image !== name) return sendFile(request, reply, file);
    const { machineId, bootNo } = boot;
    const fetch = { ...fetchOf(request), machineId, bootNo, kind: 'image', served: name } as const;
    return sendFile(request, reply, file, (sent) => parts.fetches.record({ ...fetch, ...sent }));
  });
}

/** What is no image, or one that would read other files, is not kept. */
async function judgedFormat(
  { nodes: { database }, files }: NetbootRouteDependencies,
  sha256: string,
  sizeBytes: number,
): Promise<Pick<NewImage, 'format' | 'virtualBytes'>> {
  const verdict = judgeImage(await files.head(sha256, IMAGE_HEAD_BYTES), sizeBytes);
  if (!('refused' in verdict)) return verdict;
  if (!(await isDigestUsed(database, sha256))) await files.remove(sha256);
  throw new Fault('IMAGE_REFUSED', {
    message: `the file can't be an image: ${verdict.refused}; nothing was kept`,
    violations: [{ subject: 'body', description: verdict.refused }],
  });
}

async function keepImage(
  { nodes: { database }, files }: NetbootRouteDependencies,
  image: NewImage,
  actor: Actor,
): Promise<Image> {
  const before = await findImage(database, image.name);
  const stored = await storeImage(database, image, actor);
  if (before && before.sha256 !== image.sha256 && !(await isDigestUsed(database, before.sha256))) {
    await files.remove(before.sha256);
  }
  return stored;
}

function imageNameOf(name: string): string {
  if (IMAGE_RULE.test(name)) return name;
  throw invalidField('name', 'must be at most 255 letters, digits, ".", "_", ":", "/", "@" or "-"');
}

function digestOf(given: unknown): string {
  if (typeof given === 'string' && /^[0-9a-f]{64}$/.test(given)) return given;
  throw invalidField('sha256', 'must be 64 lower-case hex digits');
}

function rangeOf(header: string | undefined, length: number): { start: number; totalBytes: number } {
  if (header === undefined) return { start: 0, totalBytes: length };
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(header);
  const [start, end, totalBytes] = [Number(match?.[1]), Number(match?.[2]), Number(match?.[3])];
  if (match && end - start + 1 === length && end < totalBytes) return { start, totalBytes };
  throw invalidField('content-range', 'must be "bytes start-end/total" of what is sent');
}

async function knownImage({ nodes: { database } }: NetbootRouteDependencies, name: string): Promise<Image> {
  const image = await findImage(database, name);
  if (!image) throw imageNotFound(name);
  return image;
}

function imageNotFound(name: string): Fault {
  return new Fault('IMAGE_NOT_FOUND', {
    message: `there is no image ${JSON.stringify(name.slice(0, 80))}`,
  });
}

function imageBody(image: Image) {
  return {
    name: image.name,
    sha256: image.sha256,
    size_bytes: image.sizeBytes,
    format: image.format,
    virtual_size_bytes: image.virtualBytes,
    created_by: image.createdBy,
    created_at: image.createdAt.toISOString(),
  };
}
