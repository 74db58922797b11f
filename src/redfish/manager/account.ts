/** The account on a service that we log in with. */
import { linkOf, textOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';

/** Sends the password to the service, and nowhere else: what the service says of a refusal is not repeated, because it may quote it. */
export async function changePassword(service: RedfishService, user: string, password: string): Promise<void> {
  const account = await findAccount(service, user);
  try {
    await service.change(account, { Password: password });
  } catch (error) {
    if (!(error instanceof RedfishFailure) || error.reason !== 'CommandRefused') throw error;
    const detail = `${account.path} does not take the new password; its rules for passwords may forbid it`;
    throw new RedfishFailure('CommandRefused', service.where, detail);
  }
}

async function findAccount(service: RedfishService, user: string): Promise<Resource> {
  const { accountService } = await service.root();
  const accounts =
    accountService === null ? null : linkOf((await service.get(accountService)).fields.Accounts);
  const listed = accounts === null ? [] : await service.resources(accounts);
  const account = listed.find(({ fields }) => textOf(fields.UserName) === user);
  if (!account) throw new RedfishFailure('NotOffered', service.where, `an account ${user} that it lists`);
  // A member of a collection that was answered whole has no version.
  return service.get(account.path);
}
