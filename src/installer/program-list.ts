/**
 * The programs that go into the installer beside busybox, and Debian's packages that hold them. Each has a job that busybox
 * has no applet for; without them an installer still installs raw, gzip and xz images.
 */
export const PROGRAMS = [
  { name: 'hdparm', package: 'hdparm', does: 'erases ATA disks' },
  { name: 'nvme', package: 'nvme-cli', does: 'erases NVMe disks' },
  { name: 'qemu-img', package: 'qemu-utils', does: 'unpacks qcow2 images' },
  { name: 'sfdisk', package: 'fdisk', does: 'adds the partition for user data' },
  { name: 'zstd', package: 'zstd', does: 'unpacks zstd images' },
] as const satisfies readonly {
  readonly name: string;
  readonly package: string;
  readonly does: string;
}[];

export type Program = (typeof PROGRAMS)[number];
