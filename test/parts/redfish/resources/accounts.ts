/** The accounts of the BMC (AccountService, ManagerAccount): a new password ends the sessions of the old one. */
import {
  type Answer,
  type Body,
  collection,
  failure,
  link,
  ok,
  preconditionFailure,
  type SimulatedNoun,
  type SimulatedRequest,
  success,
  versioned,
} from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';

const SERVICE = '/redfish/v1/AccountService';
const ACCOUNTS = `${SERVICE}/Accounts`;

export class SimulatedAccounts {
  version = 1;
  /** Every password that it ever took, oldest first. */
  readonly passwords: string[] = [];
  /** Takes no new password. */
  isStrict = false;
}

export const accounts: SimulatedNoun = {
  routes: {
    [`GET ${SERVICE}`]: () => ok({ '@odata.id': SERVICE, Id: 'AccountService', Accounts: link(ACCOUNTS) }),
    [`GET ${ACCOUNTS}`]: (request) =>
      collection(request, [`${ACCOUNTS}/1`, `${ACCOUNTS}/2`], (path) => account(request.bmc, path)),
    [`GET ${ACCOUNTS}/:id`]: ({ bmc, path, parameters: { id = '' } }) =>
      ['1', '2'].includes(id) ? versioned(bmc, account(bmc, path), bmc.accounts.version) : null,
    [`PATCH ${ACCOUNTS}/2`]: change,
  },
  adds: { root: () => ({ AccountService: link(SERVICE) }) },
};

function account({ user }: RedfishSimulator, path: string): Body {
  const id = path.split('/').pop();
  return {
    '@odata.id': path,
    '@odata.type': '#ManagerAccount.v1_8_0.ManagerAccount',
    Id: id,
    Name: 'User Account',
    // The first slot of many BMCs is empty.
    UserName: id === '2' ? user : '',
    Password: null,
    Enabled: id === '2',
    Locked: false,
    RoleId: 'Administrator',
  };
}

function change(request: SimulatedRequest): Answer {
  const { bmc, body } = request;
  const refused = preconditionFailure(request, bmc.accounts.version);
  if (refused) return refused;
  const { Password: password } = body;
  if (typeof password !== 'string' || password.length < 8 || bmc.accounts.isStrict)
    return failure(400, 'Base.1.8.PropertyValueFormatError', `The value ${String(password)} is not allowed.`);
  bmc.accounts.passwords.push(bmc.password);
  bmc.accounts.version += 1;
  bmc.password = password;
  bmc.sessions.clear();
  return success(bmc);
}
