/** A provider of kind datacenter: how its hosts and their BMCs are reached. */
import { z } from 'zod';
import { sshConfiguration } from '../../hosts/ssh-configuration.ts';
import { bmcConfiguration } from './bmc/bmc-configuration.ts';

export const datacenterConfiguration = z.strictObject({
  kind: z.literal('datacenter'),
  ssh: sshConfiguration,
  /** Without it there is no power and no boot device. */
  bmc: bmcConfiguration.optional(),
});

export type DatacenterConfiguration = z.output<typeof datacenterConfiguration>;
