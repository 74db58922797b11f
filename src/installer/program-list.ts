/**
 * The programs of the installer besides busybox, and the Debian packages that contain them. busybox has no applet for their
 * tasks. Without them an installer still installs raw, gzip and xz images.
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
