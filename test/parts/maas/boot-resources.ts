/** The images that the simulated MAAS has: synced releases, one that a user uploaded, and what boots machines. */

const resource = (id: number, type: 'Synced' | 'Uploaded', name: string, architecture: string) => ({
  id,
  type,
  name,
  architecture,
  resource_uri: `/MAAS/api/2.0/boot-resources/${id}/`,
  last_deployed: null,
});

/** As MAAS lists them: a release once for each of its kernels. */
export const BOOT_RESOURCES = [
  resource(1, 'Synced', 'grub-efi-signed/uefi', 'amd64/generic'),
  resource(2, 'Synced', 'ubuntu/focal', 'amd64/ga-20.04'),
  resource(3, 'Synced', 'ubuntu/jammy', 'amd64/ga-22.04'),
  resource(4, 'Synced', 'ubuntu/noble', 'amd64/ga-24.04'),
  resource(5, 'Synced', 'ubuntu/noble', 'amd64/hwe-24.04'),
  resource(6, 'Synced', 'ubuntu/oracular', 'arm64/ga-24.10'),
  resource(7, 'Synced', 'centos/rocky-9', 'amd64/generic'),
  resource(8, 'Uploaded', 'rocky-9', 'amd64/generic'),
  resource(9, 'Uploaded', 'gpu-node-7', 'amd64/generic'),
];

/** MAAS checks the name alone: whether it is for the machine's architecture shows when it boots. */
export function isDeployable(osystem: string, series: string): boolean {
  return BOOT_RESOURCES.some(({ name }) => {
    const full = name.includes('/') ? name : `custom/${name}`;
    return full === `${osystem}/${series}` && osystem !== 'grub-efi-signed';
  });
}
