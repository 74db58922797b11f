/** What machines fetch and report while they boot from the network, and the images that they install. */
import { z } from 'zod';
import { INSTALLATION_STATUSES } from '../../../domain/install/install-report.ts';
import { INSTALL_PROFILE_BODY } from '../../../operations/nodes/install-profile-input.ts';
import { BOOT_FETCH, done, found, IMAGE, INSTALL_STATE, listOf, WORKFLOW } from './answer-schemas.ts';
import { PAGE_QUERY } from './node-api.ts';
import type { RouteAnswer, RouteTable } from './route.ts';

/** Room for a long log in `installation_error`, of which only the front is kept. Senders that are not known have less. */
export const MAX_REPORT_BYTES = 2 * 1024 * 1024;
/** User data and network configuration, each with as much as their escapes in JSON may take. */
const MAX_WORKFLOW_BYTES = 1024 * 1024;
/** They are written as they come; nothing decodes them. */
export const PIECE_BYTES = 16 * 1024 * 1024;

const text = (description: string) => ({ description, schema: z.string() });
const SCRIPT = { mediaType: 'text/plain', description: 'An iPXE script.' } as const satisfies RouteAnswer;
const FILE = {
  200: { mediaType: 'application/octet-stream', description: 'The file.' },
  206: { mediaType: 'application/octet-stream', description: 'The range that was asked for.' },
  404: { description: 'There is no such file.', schema: z.strictObject({ detail: z.string() }) },
} as const satisfies Record<number, RouteAnswer>;
const SHA256 = {
  description: 'The SHA-256 of the whole file, 64 lower-case hex digits.',
  schema: z.string().regex(/^[0-9a-f]{64}$/),
  required: true,
} as const;
const IMAGE_NAME = { name: 'the name of the image' } as const;
const WORKFLOW_NAME = { name: 'the name of the workflow' } as const;

export const REPORT_ROUTES = {
  reportBurnIn: {
    method: 'POST',
    path: '/api/v1/burn-in',
    caller: 'machine',
    summary: 'Report the progress or the results of a burn-in or an inspection, with the token of its boot',
    body: {
      schema: z.looseObject({
        mac_address: z.string().optional(),
        installation_status: z.enum(INSTALLATION_STATUSES),
        installation_progress: z.int().min(0).max(100).optional(),
        installation_error: z.string().optional(),
        burn_in: z.looseObject({ results: z.array(z.looseObject({})) }).optional(),
        inventory: z.looseObject({}).optional(),
      }),
    },
    maxBodyBytes: MAX_REPORT_BYTES,
    answers: {
      200: { description: 'The report is recorded.', schema: done(z.strictObject({ id: z.string() })) },
    },
    refusals: ['INVALID_FIELD', 'BOOT_NOT_WANTED'],
  },
  report: {
    method: 'POST',
    path: '/api/v1/report',
    caller: 'machine',
    summary: 'Report the facts of a machine, or the progress of its installation or erasure',
    body: {
      schema: z.looseObject({
        mac_address: z.string(),
        installation_status: z.enum(INSTALLATION_STATUSES).nullish(),
        installation_progress: z.int().min(0).max(100).optional(),
        installation_error: z.string().optional(),
        hostname: z.string().optional(),
        ip_address: z.string().optional(),
        vendor: z.string().optional(),
        model: z.string().optional(),
        serial_number: z.string().optional(),
        system_uuid: z.string().optional(),
        arch: z.string().optional(),
        boot_mode: z.string().optional(),
        inventory: z.looseObject({}).optional(),
        erase: z.looseObject({}).optional(),
        evidence: z
          .looseObject({
            image_sha256: z.string(),
            bytes_written: z.int().min(1),
            sha256: z.string(),
            signature: z.string(),
          })
          .optional(),
      }),
    },
    maxBodyBytes: MAX_REPORT_BYTES,
    answers: {
      200: {
        description: 'The report is recorded; the message says what was left out.',
        schema: done(z.strictObject({ id: z.string(), mac_address: z.string(), state: INSTALL_STATE })),
      },
    },
    refusals: [
      'INVALID_FIELD',
      'INVALID_BOOT_TOKEN',
      'BOOT_NOT_WANTED',
      'TOO_MANY_DISCOVERED',
      'DISCOVERY_TOO_FAST',
      'DISCOVERY_OFF',
      'BROWSER_REQUEST',
    ],
  },
} as const satisfies RouteTable;

const ONCE = { secret: 'the secret of the URL' } as const;

export const BOOT_ROUTES = {
  script: {
    method: 'GET',
    path: '/api/v1/boot',
    caller: 'anyone',
    summary: 'Get the iPXE script that a machine boots with',
    query: {
      mac: text('The MAC address of the interface that booted; without it, a script that asks for it.'),
      arch: text('The architecture, as iPXE calls it: i386, x86_64, arm64.'),
      platform: text('The firmware, as iPXE calls it: pcbios or efi.'),
      serial: text('The serial number.'),
      uuid: text('The UUID of the system.'),
      asked: text('Set by the script that asks.'),
      failed: text('The boot whose files could not be loaded.'),
    },
    answers: { 200: SCRIPT },
    refusals: ['INVALID_FIELD', 'BROWSER_REQUEST'],
  },
  autoexec: {
    method: 'GET',
    path: '/boot/autoexec.ipxe',
    caller: 'anyone',
    summary: 'Get the script that an iPXE looks for beside itself',
    query: { asked: text('Set by the script that asks.') },
    answers: { 200: SCRIPT },
  },
  file: {
    method: 'GET',
    path: '/boot/*',
    caller: 'anyone',
    summary: 'Get a boot file: a kernel, an initramfs',
    params: { '*': 'the path below the boot files' },
    query: { boot: text('The boot that fetches it, as its script names it.') },
    answers: FILE,
  },
  onceScript: {
    method: 'GET',
    path: '/boot/once/:secret/autoexec.ipxe',
    caller: 'anyone',
    summary: 'Get the iPXE script of a one-time URL, once',
    params: ONCE,
    query: {
      arch: text('The architecture, as iPXE calls it: i386, x86_64, arm64.'),
      platform: text('The firmware, as iPXE calls it: pcbios or efi.'),
    },
    answers: { 200: SCRIPT, 404: FILE[404] },
    refusals: ['BROWSER_REQUEST'],
  },
  onceInstaller: {
    method: 'GET',
    path: '/boot/once/:secret/installer.efi',
    caller: 'anyone',
    summary: 'Get the installer of a one-time URL as one program for UEFI, once',
    params: ONCE,
    answers: {
      200: { mediaType: 'application/efi', description: 'Kernel, initramfs and command line.' },
      404: FILE[404],
    },
    refusals: ['BROWSER_REQUEST'],
  },
  onceDisc: {
    method: 'GET',
    path: '/boot/once/:secret/installer.iso',
    caller: 'anyone',
    summary: 'Read the installer of a one-time URL as a disc, whole or in ranges, until the URL expires',
    params: ONCE,
    answers: {
      200: { mediaType: 'application/x-iso9660-image', description: 'A disc that UEFI boots.' },
      206: { mediaType: 'application/x-iso9660-image', description: 'The range that was asked for.' },
      404: FILE[404],
      416: { mediaType: 'application/x-iso9660-image', description: 'The range is behind its end.' },
    },
  },
  onceWords: {
    method: 'GET',
    path: '/boot/once/:secret/parameters',
    caller: 'anyone',
    summary: 'Get the parameters of the installer that was booted from the disc of a one-time URL, once',
    params: ONCE,
    answers: {
      200: { mediaType: 'text/plain', description: 'One line, in the form of a kernel command line.' },
      404: FILE[404],
    },
    refusals: ['BROWSER_REQUEST'],
  },
  onceLoader: {
    method: 'GET',
    path: '/boot/once/:secret/boot.efi',
    caller: 'anyone',
    summary: 'Get the boot loader for UEFI on x86-64, with the script of a one-time URL beside it',
    params: ONCE,
    answers: FILE,
  },
  onceLoaderArm64: {
    method: 'GET',
    path: '/boot/once/:secret/boot-arm64.efi',
    caller: 'anyone',
    summary: 'Get the boot loader for UEFI on arm64, with the script of a one-time URL beside it',
    params: ONCE,
    answers: FILE,
  },
  loader: {
    method: 'GET',
    path: '/boot/boot.efi',
    caller: 'anyone',
    summary: 'Get the boot loader for UEFI on x86-64',
    answers: FILE,
  },
  loaderArm64: {
    method: 'GET',
    path: '/boot/boot-arm64.efi',
    caller: 'anyone',
    summary: 'Get the boot loader for UEFI on arm64',
    answers: FILE,
  },
} as const satisfies RouteTable;

const SEED = {
  200: { mediaType: 'text/plain', description: 'The file.' },
  404: { mediaType: 'text/plain', description: 'The installation has no such file.' },
} as const satisfies Record<number, RouteAnswer>;

export const SEED_ROUTES = {
  'user-data': {
    method: 'GET',
    path: '/api/v1/boot/user-data',
    caller: 'boot',
    summary: "Get the installation's user data for cloud-init",
    answers: SEED,
    refusals: ['INVALID_BOOT_TOKEN'],
  },
  'meta-data': {
    method: 'GET',
    path: '/api/v1/boot/meta-data',
    caller: 'boot',
    summary: "Get the installation's meta data for cloud-init",
    answers: SEED,
    refusals: ['INVALID_BOOT_TOKEN'],
  },
  'network-config': {
    method: 'GET',
    path: '/api/v1/boot/network-config',
    caller: 'boot',
    summary: "Get the installation's network configuration for cloud-init",
    answers: SEED,
    refusals: ['INVALID_BOOT_TOKEN'],
  },
} as const satisfies RouteTable;

export const BOOT_URL_ROUTES = {
  issue: {
    method: 'POST',
    path: '/api/v1/nodes/:id/boot-url',
    caller: 'operator',
    summary: 'Issue a one-time URL for the next boot of a node, to be set through its BMC',
    params: { id: 'the id of the machine' },
    answers: {
      201: {
        description: 'The URLs, which are not shown again.',
        schema: done(
          z.strictObject({
            url: z.string(),
            script_url: z.string(),
            /** Null: the installer can't be booted from a disc. */
            iso_url: z.string().nullable(),
            expires_at: z.string(),
          }),
        ),
      },
    },
    refusals: ['NODE_NOT_FOUND', 'NOTHING_TO_BOOT'],
  },
} as const satisfies RouteTable;

export const BOOT_FETCH_ROUTES = {
  ofNode: {
    method: 'GET',
    path: '/api/v1/nodes/:id/boots',
    caller: 'viewer',
    summary: 'List what a node fetched while it booted',
    params: { id: 'the id of the machine' },
    query: PAGE_QUERY,
    answers: { 200: { description: 'A page, newest first.', schema: listOf(BOOT_FETCH) } },
    refusals: ['NODE_NOT_FOUND'],
  },
  all: {
    method: 'GET',
    path: '/api/v1/boots',
    caller: 'viewer',
    summary: 'List what all machines fetched while they booted, also those that are no node',
    query: { mac: text('Of the machine with this MAC address.'), ...PAGE_QUERY },
    answers: { 200: { description: 'A page, newest first.', schema: listOf(BOOT_FETCH) } },
  },
} as const satisfies RouteTable;

export const IMAGE_ROUTES = {
  list: {
    method: 'GET',
    path: '/api/v1/images',
    caller: 'viewer',
    summary: 'List images',
    answers: { 200: { description: 'All of them.', schema: listOf(IMAGE) } },
  },
  get: {
    method: 'GET',
    path: '/api/v1/images/:name',
    caller: 'viewer',
    summary: 'Get an image',
    params: IMAGE_NAME,
    answers: { 200: { description: 'The image.', schema: found(IMAGE) } },
    refusals: ['IMAGE_NOT_FOUND'],
  },
  upload: {
    method: 'GET',
    path: '/api/v1/images/:name/upload',
    caller: 'admin',
    summary: 'Get how far an upload is',
    params: IMAGE_NAME,
    query: { sha256: SHA256 },
    answers: {
      200: {
        description: 'Where the next piece begins, and how long it may be.',
        schema: found(z.strictObject({ offset: z.int(), piece_bytes: z.int() })),
      },
    },
  },
  putContent: {
    method: 'PUT',
    path: '/api/v1/images/:name/content',
    caller: 'admin',
    summary: 'Upload one piece of an image; the last one makes it an image',
    params: IMAGE_NAME,
    query: {
      sha256: SHA256,
      scope: {
        description:
          'The scope that it belongs to, as a filter over machines. Without it, a new image is shared.',
        schema: z.string(),
      },
    },
    headers: { 'content-range': 'bytes start-end/total; without it the body is the whole file' },
    body: { mediaType: 'application/octet-stream', schema: z.string() },
    maxBodyBytes: PIECE_BYTES,
    answers: {
      201: { description: 'The image.', schema: done(IMAGE) },
      202: {
        description: 'More pieces are needed.',
        schema: done(z.strictObject({ offset: z.int() })),
      },
    },
    refusals: ['UPLOAD_GAP', 'UPLOAD_BUSY', 'DIGEST_MISMATCH', 'IMAGE_REFUSED'],
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/images/:name',
    caller: 'admin',
    summary: 'Remove an image',
    params: IMAGE_NAME,
    answers: { 200: { description: 'The image that was removed.', schema: done(IMAGE) } },
    refusals: ['IMAGE_NOT_FOUND'],
  },
  getContent: {
    method: 'GET',
    path: '/api/v1/images/:name/content',
    caller: 'boot or viewer',
    summary: 'Download an image, also in ranges',
    params: IMAGE_NAME,
    answers: FILE,
    refusals: ['IMAGE_NOT_FOUND', 'IMAGE_CHANGED'],
  },
} as const satisfies RouteTable;

export const WORKFLOW_ROUTES = {
  list: {
    method: 'GET',
    path: '/api/v1/workflows',
    caller: 'viewer',
    summary: 'List workflows: built in, stored and configured',
    answers: { 200: { description: 'All of them.', schema: listOf(WORKFLOW) } },
  },
  get: {
    method: 'GET',
    path: '/api/v1/workflows/:name',
    caller: 'viewer',
    summary: 'Get a workflow',
    params: WORKFLOW_NAME,
    answers: { 200: { description: 'The workflow.', schema: found(WORKFLOW) } },
    refusals: ['WORKFLOW_NOT_FOUND'],
  },
  store: {
    method: 'POST',
    path: '/api/v1/workflows',
    caller: 'admin',
    summary: 'Create or replace a workflow',
    body: { schema: INSTALL_PROFILE_BODY },
    maxBodyBytes: MAX_WORKFLOW_BYTES,
    answers: { 201: { description: 'The workflow.', schema: done(WORKFLOW) } },
    refusals: ['WORKFLOW_CONFIGURED'],
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/workflows/:name',
    caller: 'admin',
    summary: 'Remove a stored workflow',
    params: WORKFLOW_NAME,
    answers: {
      200: {
        description: 'It is removed.',
        schema: z.strictObject({ success: z.literal(true), message: z.string() }),
      },
    },
    refusals: ['WORKFLOW_NOT_FOUND'],
  },
} as const satisfies RouteTable;
