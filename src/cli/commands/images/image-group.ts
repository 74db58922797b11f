/** The commands of images: the disk images that nodes are installed with. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Command } from 'commander';
import { bytesText } from '../../../domain/agent/metric-text.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Answer, Rest } from '../../connection/rest-client.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { addExamples, addListing, addOutput, addReason } from '../../input/options.ts';
import { writeFields } from '../../output/fields.ts';
import { isForPeople, type OutputFormat, type Rendering, writeOne } from '../../output/format.ts';
import { type ListingOptions, writeListing } from '../../output/listing.ts';
import { plainText } from '../../output/plain-text.ts';
import type { Column } from '../../output/table.ts';

interface ImageBody {
  readonly name: string;
  readonly sha256: string;
  readonly size_bytes: number;
  readonly format: string | null;
  readonly virtual_size_bytes: number | null;
  readonly created_by: string;
  readonly created_at: string;
}

const IMAGE_COLUMNS: readonly Column<ImageBody>[] = [
  { header: 'IMAGE', cell: ({ name }) => name },
  { header: 'SIZE', cell: (image) => bytesText(image.size_bytes), stays: 'longest' },
  { header: 'FORMAT', cell: ({ format }) => format ?? '', stays: 'longest' },
  {
    header: 'DISK',
    cell: (image) => (image.virtual_size_bytes === null ? '' : bytesText(image.virtual_size_bytes)),
  },
  { header: 'SHA256', cell: ({ sha256 }) => sha256 },
  { header: 'ADDED', cell: (image) => image.created_at },
  { header: 'BY', cell: (image) => image.created_by },
];

const IMAGES: Rendering<ImageBody> = {
  json: (image) => ({ ...image }),
  name: ({ name }) => name,
  columns: IMAGE_COLUMNS,
  wideColumns: IMAGE_COLUMNS,
};

export function imageGroup(context: CommandContext): Command {
  return new Command('image')
    .description('Disk images for installations')
    .addCommand(addImage(context))
    .addCommand(listImages(context))
    .addCommand(showImage(context), { isDefault: true })
    .addCommand(removeImage(context));
}

interface AddOptions {
  readonly output: OutputFormat;
  readonly sha256?: string;
  readonly scope?: string;
}

function addImage(context: CommandContext): Command {
  const command = new Command('add')
    .description('Upload an image to the server (admin); an interrupted upload continues')
    .argument('<name>', 'such as ubuntu-22.04')
    .argument(
      '<file>',
      'a disk image: raw, compressed with gzip, xz or zstd, or qcow2 without a backing file',
    )
    .option('--sha256 <digest>', 'the expected digest; a file with another digest is not uploaded')
    .option(
      '--scope <filter>',
      "the scope that it belongs to, such as 'customer_id=acme' (default: all share it)",
    );
  addExamples(command, context.program, ['image add ubuntu-22.04 jammy-server-cloudimg-amd64.img']);
  return addOutput(addReason(command)).action(
    context.restAction<AddOptions>(async ({ args: [name = '', given = ''], options, rest }) => {
      const file = context.pathOf(given);
      const sha256 = await digestOf(file);
      if (options.sha256 !== undefined && options.sha256.toLowerCase() !== sha256) {
        throw new UsageError(`${given} has the digest ${sha256}, not ${options.sha256}`);
      }
      const { scope = '' } = options;
      const image = await send(context, rest, { name, file, sha256, scope }, isForPeople(options.output));
      writeOne(context.out, options.output, IMAGES, image, () =>
        context.out.line(
          `added ${plainText(image.name)}: ${bytesText(image.size_bytes)}, sha256 ${image.sha256}${imageKind(image)}`,
        ),
      );
      return 'ok';
    }),
  );
}

function imageKind({ format, size_bytes: bytes, virtual_size_bytes: disk }: ImageBody): string {
  if (format === null) return '';
  const size = disk === null || disk === bytes ? '' : ` of a disk of ${bytesText(disk)}`;
  return `, ${plainText(format)}${size}`;
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file), hash);
  } catch (error) {
    throw new UsageError(
      `${file} can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
    );
  }
  return hash.digest('hex');
}

interface Sending {
  readonly scope: string;
  readonly name: string;
  readonly file: string;
  readonly sha256: string;
}

async function send(
  context: CommandContext,
  rest: Rest,
  { name, file, sha256, scope }: Sending,
  showsProgress: boolean,
): Promise<ImageBody> {
  const path = `/images/${encodeURIComponent(name)}`;
  const owner = scope === '' ? '' : `&scope=${encodeURIComponent(scope)}`;
  const { data: upload } = await rest.call<Answer<{ offset: number; piece_bytes: number }>>(
    'GET',
    `${path}/upload?sha256=${sha256}`,
  );
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    if (size === 0) throw new UsageError(`${file} is empty`);
    // The last piece completes the image, so it is sent even if the server has all bytes.
    let offset = upload.offset >= size ? Math.max(0, size - upload.piece_bytes) : upload.offset;
    for (;;) {
      const bytes = await piece(handle, offset, Math.min(upload.piece_bytes, size - offset));
      const range = `bytes ${offset}-${offset + bytes.length - 1}/${size}`;
      const { data } = await rest.putBytes<Answer<ImageBody>>(
        `${path}/content?sha256=${sha256}${owner}`,
        bytes,
        range,
      );
      offset += bytes.length;
      if (offset >= size) return data;
      if (showsProgress) context.err.line(`sent ${bytesText(offset)} of ${bytesText(size)}`);
    }
  } finally {
    await handle.close();
  }
}

async function piece(handle: FileHandle, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await handle.read(bytes, 0, length, offset);
  return bytes.subarray(0, bytesRead);
}

function listImages(context: CommandContext): Command {
  return addListing(new Command('list').description('List images'), IMAGES).action(
    context.restAction<ListingOptions>(async ({ options, rest }) => {
      const { data } = await rest.call<Answer<ImageBody[]>>('GET', '/images');
      const none = `no images yet; add one: ${context.program} image add <name> <file>`;
      return writeListing(context, options, IMAGES, [data], none);
    }),
  );
}

function showImage(context: CommandContext): Command {
  const command = new Command('show').alias('get').description('Show one image').argument('<name>');
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat }>(async ({ args: [name = ''], options, rest }) => {
      const { data } = await rest.call<Answer<ImageBody>>('GET', `/images/${encodeURIComponent(name)}`);
      writeOne(context.out, options.output, IMAGES, data, () => writeFields(context.out, IMAGES, data));
      return 'ok';
    }),
  );
}

function removeImage(context: CommandContext): Command {
  const command = new Command('delete')
    .alias('remove')
    .description('Delete an image (admin)')
    .argument('<name>');
  return addOutput(addReason(command)).action(
    context.restAction<{ output: OutputFormat }>(async ({ args: [name = ''], options, rest }) => {
      const { data } = await rest.call<Answer<ImageBody>>('DELETE', `/images/${encodeURIComponent(name)}`);
      writeOne(context.out, options.output, IMAGES, data, () =>
        context.out.line(`removed ${plainText(data.name)}`),
      );
      return 'ok';
    }),
  );
}
