/** Writes a cpio archive ("newc"), the format of an initramfs. The same entries give the same bytes. */
const KINDS = { directory: 0o040000, file: 0o100000, device: 0o020000 } as const;

export type ArchiveEntry =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'file'; readonly path: string; readonly content: Uint8Array; readonly mode: number }
  | { readonly kind: 'device'; readonly path: string; readonly major: number; readonly minor: number };

interface Header {
  readonly path: string;
  readonly inode: number;
  readonly mode: number;
  readonly size: number;
  readonly device: readonly [major: number, minor: number];
}

export function cpioArchive(entries: readonly ArchiveEntry[]): Buffer {
  const end = header({ path: 'TRAILER!!!', inode: 0, mode: 0, size: 0, device: [0, 0] });
  return Buffer.concat([...entries.flatMap((entry, index) => record(entry, index + 1)), padded(end)]);
}

function record(entry: ArchiveEntry, inode: number): Buffer[] {
  const content = Buffer.from(entry.kind === 'file' ? entry.content : []);
  const head = header({
    path: entry.path,
    inode,
    mode: KINDS[entry.kind] | permissionsOf(entry),
    size: content.length,
    device: entry.kind === 'device' ? [entry.major, entry.minor] : [0, 0],
  });
  return [padded(head), padded(content)];
}

function permissionsOf(entry: ArchiveEntry): number {
  if (entry.kind === 'file') return entry.mode;
  return entry.kind === 'device' ? 0o600 : 0o755;
}

/** Owner, group and time are 0, so that the archive is reproducible. */
function header({ path, inode, mode, size, device }: Header): Buffer {
  const name = Buffer.from(`${path}\0`);
  const fields = [inode, mode, 0, 0, 1, 0, size, 0, 0, ...device, name.length, 0];
  const digits = fields.map((field) => field.toString(16).padStart(8, '0').toUpperCase()).join('');
  return Buffer.concat([Buffer.from(`070701${digits}`), name]);
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
