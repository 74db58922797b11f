/** Images: uploaded in pieces by admins, downloaded by the machines that install them. */
import type { FastifyInstance } from 'fastify';
import type { Caller } from '../../../domain/access/caller.ts';
import { needsWholeFleet, parseScope, type Scope } from '../../../domain/access/scope.ts';
import type { Actor } from '../../../domain/actor.ts';
import { Fault, invalidField } from '../../../domain/error/fault.ts';
import { IMAGE_HEAD_BYTES, judgeImage } from '../../../domain/install/image-format.ts';
import { IMAGE_RULE } from '../../../domain/machine/machine-input.ts';
import type { ImageFiles } from '../../../store/nodes/image-files.ts';
import {
  findImage,
  type Image,
  isDigestUsed,
  listImages,
  type NewImage,
  removeImage,
  storeImage,
} from '../../../store/nodes/images.ts';
import type { OpenStreams } from '../../access/open-streams.ts';
import { IMAGE_ROUTES, PIECE_BYTES } from '../api/netboot-api.ts';
import { bootOf } from '../boot/boot-caller.ts';
import type { BootDownloads } from '../boot/boot-downloads.ts';
import { type BootRouteDependencies, fetchOf } from '../boot/boot-routes.ts';
import { sendFile } from '../boot/send-file.ts';
import { endWithCaller } from '../end-with-caller.ts';
import { textOf } from '../query.ts';
import { callerWith } from '../rest-errors.ts';
import type { SecretReads } from '../secret-reads.ts';
import { type RouteCall, serveRoutes } from '../serve-routes.ts';

export interface ImageRouteDependencies extends BootRouteDependencies {
  readonly files: ImageFiles;
  readonly reads: SecretReads;
  readonly streams: OpenStreams;
  readonly downloads: BootDownloads;
}

export function imageRoutes(app: FastifyInstance, dependencies: ImageRouteDependencies): void {
  const { nodes, files } = dependencies;
  const { database } = nodes;
  app.addContentTypeParser(
    'application/octet-stream',
    { parseAs: 'buffer', bodyLimit: PIECE_BYTES },
    (_request, body, done) => done(null, body),
  );
  serveRoutes(app, IMAGE_ROUTES, dependencies, {
    list: async ({ caller }) => {
      const images = await listImages(database, caller.scope);
      return { success: true, data: images.map(imageBody), total: images.length };
    },
    get: async ({ params, caller }) => ({
      success: true,
      data: imageBody(await knownImage(dependencies, params.name, caller.scope)),
    }),
    upload: async ({ query, caller }) => {
      checkWholeFleet(caller);
      const offset = await files.uploaded(digestOf(query.sha256));
      return { success: true, data: { offset, piece_bytes: PIECE_BYTES } };
    },
    putContent: (call) => putPiece(dependencies, call),
    remove: async ({ params: { name }, caller }) => {
      checkWholeFleet(caller);
      const removed = await removeImage(database, name, caller.actor);
      if (!removed) throw imageNotFound(name);
      if (!(await isDigestUsed(database, removed.sha256))) await files.remove(removed.sha256);
      return { success: true, data: imageBody(removed), message: `Image ${removed.name} removed` };
    },
    getContent: (call) => sendContent(dependencies, call),
  });
}

async function putPiece(
  dependencies: ImageRouteDependencies,
  { request, reply, params, query, caller }: RouteCall<(typeof IMAGE_ROUTES)['putContent']>,
) {
  checkWholeFleet(caller);
  const name = imageNameOf(params.name);
  const scope = parseScope(textOf(query, 'scope') ?? '');
  const sha256 = digestOf(query.sha256);
  if (!Buffer.isBuffer(request.body) || request.body.length === 0) {
    throw invalidField('body', 'must be bytes, with content-type application/octet-stream');
  }
  const range = rangeOf(request.headers['content-range'], request.body.length);
  const isWhole = await dependencies.files.append({ sha256, bytes: request.body, ...range });
  if (!isWhole) {
    const offset = range.start + request.body.length;
    return reply.code(202).send({ success: true, data: { offset }, message: 'more pieces are needed' });
  }
  const kind = await judgedFormat(dependencies, sha256, range.totalBytes);
  const image = { name, sha256, sizeBytes: range.totalBytes, ...kind, scopeTerms: scope?.terms ?? [] };
  const data = imageBody(await keepImage(dependencies, image, caller.actor));
  return reply.code(201).send({ success: true, data, message: `Image ${name} added` });
}

/** An image may hold secrets: only the boot that installs it may read it, and operators. */
async function sendContent(
  dependencies: ImageRouteDependencies,
  { request, reply, params: { name } }: RouteCall<(typeof IMAGE_ROUTES)['getContent']>,
) {
  const { nodes, files, fetches, reads, downloads } = dependencies;
  const boot = await bootOf(nodes.database, request);
  const caller = boot?.image === name ? null : await callerWith(dependencies, request, 'viewer');
  const image = await knownImage(dependencies, name, caller?.scope ?? null);
  if (caller !== null) checkMayRead(caller, image);
  const read = { kind: 'image', subject: name, to: 'fetched' } as const;
  await files.checkUnchanged(image.sha256);
  const file = { root: files.root, path: image.sha256, sha256: image.sha256 };
  if (caller) {
    await endWithCaller(dependencies, { request, reply }, caller);
    await reads.byOperator(caller.actor, read);
  }
  if (boot?.image !== name) return sendFile(request, reply, file);
  const { machineId, bootNo } = boot;
  await reads.byBoot(request, boot, read);
  downloads.endWithBoot(boot, reply);
  const fetch = { ...fetchOf(request), machineId, bootNo, kind: 'image', served: name } as const;
  return sendFile(request, reply, file, (sent) => fetches.record({ ...fetch, ...sent }));
}

/** A file that is not an image, or one that would make the installer read other files, is removed again. */
async function judgedFormat(
  { nodes: { database }, files }: ImageRouteDependencies,
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
  { nodes: { database }, files }: ImageRouteDependencies,
  image: NewImage,
  actor: Actor,
): Promise<Image> {
  const { image: stored, before } = await storeImage(database, image, actor);
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

/** Images are files of the whole fleet: pieces are kept by digest, and one tenant must not find the bytes of another. */
function checkWholeFleet({ scope }: Caller): void {
  if (scope !== null) throw needsWholeFleet('adding and removing images', scope);
}

/** An image may hold secrets: with a scope, only the content of the scope's own images is read. */
function checkMayRead({ scope }: Caller, { name, scopeTerms }: Image): void {
  if (scope !== null && scopeTerms.length === 0)
    throw needsWholeFleet(`the content of the shared image ${name}`, scope);
}

async function knownImage(
  { nodes: { database } }: ImageRouteDependencies,
  name: string,
  scope: Scope | null,
): Promise<Image> {
  const image = await findImage(database, name, scope);
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
