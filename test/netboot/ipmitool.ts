import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { IpmiBmc } from '../parts/ipmi.ts';

/** What ipmitool prints when it is asked to do this at that BMC. */
export async function ipmitool(bmc: IpmiBmc, ...command: readonly string[]): Promise<string> {
  const [host = '', port = ''] = bmc.endpoint.split(':');
  const args = ['-I', 'lanplus', '-C', '3', '-H', host, '-p', port, '-U', bmc.user, '-f', bmc.passwordFile];
  const { stdout } = await promisify(execFile)('ipmitool', [...args, ...command]);
  return stdout;
}
