/** The BMC itself, restarted: its machine goes on. */
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService } from '../service/redfish-service.ts';
import { managersOf } from '../service/system-links.ts';
import { chooseReset, offeredText, resetAction } from '../system/reset-action.ts';

const RESETS = ['GracefulRestart', 'ForceRestart'] as const;

export async function resetManager(service: RedfishService, log: (text: string) => void): Promise<void> {
  const [manager] = await managersOf(service, await service.system());
  if (!manager) throw new RedfishFailure('NotOffered', service.where, 'it lists no manager');
  const { target, offered } = await resetAction(service, manager, '#Manager.Reset');
  const type = chooseReset(service, RESETS, offered);
  log(`Sending the reset ${type} to ${manager.path} over Redfish (${offeredText(offered)})`);
  await service.post(target, { ResetType: type });
}
