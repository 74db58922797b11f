/**
 * A login at one Redfish service, used by one caller at a time. It opens a session where the service has them, and sends the
 * password with each request where it has none, or knows none that it opens. A session that the service has ended is opened again,
 * once for a request: a request that was refused for that has not been carried out.
 */
import type { WebSocketStream } from '../../connections/web-socket.ts';
import { loginRule, quirksOf, type ServiceIdentity, type VendorQuirk } from '../service/vendor-quirk.ts';
import { fieldsOf, linkOf, pathOf, textOf } from './answer-fields.ts';
import { RedfishFailure } from './redfish-failure.ts';
import {
  BROKEN_JSON,
  type RedfishWire,
  refusal,
  retryAfterMs,
  type WireAnswer,
  type WireRequest,
} from './redfish-wire.ts';

const VERSIONS = '/redfish';
const ROOT = '/redfish/v1/';
const SESSIONS = '/redfish/v1/SessionService/Sessions';
const NO_SESSION_LEFT = 'it opens no session now';
/** How a service without sessions answers the login. */
const NO_SESSION_SERVICE: readonly number[] = [404, 405, 501];

export interface RedfishLogin {
  readonly user: string;
  readonly password: string;
  /** Differs for each login, and reveals nothing of it. */
  readonly fingerprint: string;
}

export interface ServiceRoot extends ServiceIdentity {
  readonly systems: string | null;
  readonly chassis: string | null;
  readonly managers: string | null;
  readonly updateService: string | null;
  readonly tasks: string | null;
  readonly registries: string | null;
  readonly accountService: string | null;
  readonly sessions: string;
  /** Whether it says where its sessions are; where not, they are sought at the usual address. */
  readonly namesSessions: boolean;
  /** The query that has a collection answer its members whole; null: it offers none. */
  readonly expandQuery: string | null;
}

/** Called with what the service made of the login. */
export interface LoginResults {
  accepted(): void;
  refused(): void;
}

type Credential =
  | { readonly kind: 'session'; readonly token: string; readonly location: string | null }
  | { readonly kind: 'basic'; readonly header: string };

export class RedfishSession {
  readonly wire: RedfishWire;
  readonly login: RedfishLogin;
  readonly #results: LoginResults;
  #root: ServiceRoot | null = null;
  #credential: Credential | null = null;
  /** The path of the machine's system, once it was found. */
  readonly systems = new Map<string, string>();
  /** The path of the entries of the machine's log by the path of its system, once it was searched; null: there is none. */
  readonly logs = new Map<string, string | null>();
  /** Collections that it did not expand when it was asked to. */
  readonly unexpanded = new Set<string>();

  constructor(wire: RedfishWire, login: RedfishLogin, results: LoginResults) {
    this.wire = wire;
    this.login = login;
    this.#results = results;
  }

  /** Needs no login. Throws a RedfishFailure where it is not one of Redfish. */
  async root(signal: AbortSignal): Promise<ServiceRoot> {
    this.#root ??= await readRoot(this.wire, signal);
    return this.#root;
  }

  async quirks(signal: AbortSignal): Promise<VendorQuirk> {
    return quirksOf(await this.root(signal));
  }

  /** An answer of any status but 401. */
  async ask(request: WireRequest): Promise<WireAnswer> {
    const isNew = this.#credential === null;
    const first = await this.#send(request, this.#credential ?? (await this.#open(request.signal)));
    if (first.status !== 401) {
      if (isNew) this.#results.accepted();
      return first;
    }
    const { wire, login } = this;
    if (this.#credential?.kind !== 'session') {
      this.#credential = null;
      this.#results.refused();
      throw refusal(wire.where, request.path, first);
    }
    // A service that does not know the session that it has just opened has taken the password for it: it gets that.
    this.#credential = isNew ? basicOf(login) : null;
    return this.ask(request);
  }

  /** Ends the session on the service. It goes on without one where that fails: the service ends it by its own limit. */
  async close(signal: AbortSignal): Promise<void> {
    const credential = this.#credential;
    this.#credential = null;
    if (credential?.kind === 'session' && credential.location !== null)
      await this.#send({ method: 'DELETE', path: credential.location, signal }, credential);
    this.wire.close();
  }

  /** Null: there is none at this path. It outlives the session: the service has checked the login. */
  async openSocket(path: string, signal: AbortSignal): Promise<WebSocketStream | null> {
    const credential = this.#credential ?? (await this.#open(signal));
    const answer = await this.wire.openSocket(path, headersOf(credential), signal);
    if (answer.isOpen) return answer.socket;
    const { status } = answer;
    if (status === 404) return null;
    throw refusal(this.wire.where, path, { status, headers: {}, body: null, messages: [] });
  }

  #send(request: WireRequest, credential: Credential): Promise<WireAnswer> {
    return this.wire.ask({ ...request, headers: { ...request.headers, ...headersOf(credential) } });
  }

  async #open(signal: AbortSignal): Promise<Credential> {
    const { sessions, namesSessions } = await this.root(signal);
    const { wire, login } = this;
    const body = { UserName: login.user, Password: login.password };
    const answer = await wire.ask({ method: 'POST', path: sessions, body, signal, repeats: 'safely' });
    const token = answer.headers['x-auth-token'];
    if (answer.status < 300 && token !== undefined) {
      const location = pathOf(answer.headers.location) ?? linkOf(answer.body);
      this.#credential = { kind: 'session', token, location };
      this.#results.accepted();
      return this.#credential;
    }
    // A service that names no sessions may ask for the password before it says that there are none.
    if (NO_SESSION_SERVICE.includes(answer.status) || (answer.status === 401 && !namesSessions)) {
      this.#credential = basicOf(login);
      return this.#credential;
    }
    // Nothing was said of the password: the service is not ready, or has no session left.
    if (loginRule(answer.messages) === 'try again')
      throw new RedfishFailure('Busy', wire.where, NO_SESSION_LEFT, retryAfterMs(answer.headers));
    // Some services answer a wrong password with 400, and all of them have read it.
    if (answer.status === 401 || answer.status === 403 || answer.status === 400) {
      this.#results.refused();
      throw new RedfishFailure('AuthenticationFailed', wire.where);
    }
    if (answer.status < 300)
      throw new RedfishFailure('Unreadable', wire.where, 'a new session came without its token');
    // What the service says of a login may repeat it.
    throw refusal(wire.where, sessions, { ...answer, messages: [] });
  }
}

function basicOf({ user, password }: RedfishLogin): Credential {
  const pair = Buffer.from(`${user}:${password}`).toString('base64');
  return { kind: 'basic', header: `Basic ${pair}` };
}

function headersOf(credential: Credential): Readonly<Record<string, string>> {
  return credential.kind === 'session'
    ? { 'x-auth-token': credential.token }
    : { authorization: credential.header };
}

async function readRoot(wire: RedfishWire, signal: AbortSignal): Promise<ServiceRoot> {
  const answer = await wire.ask({ method: 'GET', path: ROOT, signal }).catch((error: unknown) => {
    const isPage =
      error instanceof RedfishFailure && error.reason === 'Unreadable' && !error.detail.endsWith(BROKEN_JSON);
    throw isPage ? new RedfishFailure('NotRedfish', wire.where, error.detail) : error;
  });
  // A service that starts, or has a fault, is one of Redfish all the same.
  if (answer.status >= 500 || answer.status === 429) throw refusal(wire.where, ROOT, answer);
  if (answer.status >= 300)
    throw new RedfishFailure(
      'NotRedfish',
      wire.where,
      await unsupportedVersions(wire, answer.status, signal),
    );
  const root = fieldsOf(answer.body);
  const version = textOf(root.RedfishVersion);
  if (/^\d+\./.test(version) && !version.startsWith('1.'))
    throw new RedfishFailure('NotRedfish', wire.where, `its Redfish is of version ${version}, and not 1`);
  if (textOf(root.RedfishVersion) === '' && linkOf(root.Systems) === null)
    throw new RedfishFailure('NotRedfish', wire.where, `${ROOT} is not a service root`);
  return {
    vendor: textOf(root.Vendor) || (Object.keys(fieldsOf(root.Oem))[0] ?? ''),
    product: textOf(root.Product),
    manager: linkOf(fieldsOf(root.Links).ManagerProvidingService)?.split('/').pop() ?? '',
    systems: linkOf(root.Systems),
    chassis: linkOf(root.Chassis),
    managers: linkOf(root.Managers),
    updateService: linkOf(root.UpdateService),
    tasks: linkOf(root.Tasks),
    registries: linkOf(root.Registries),
    accountService: linkOf(root.AccountService),
    expandQuery: expandQueryOf(fieldsOf(fieldsOf(root.ProtocolFeaturesSupported).ExpandQuery)),
    sessions: linkOf(fieldsOf(root.Links).Sessions) ?? SESSIONS,
    namesSessions: linkOf(fieldsOf(root.Links).Sessions) !== null || linkOf(root.SessionService) !== null,
  };
}

/** DSP0266 has the versions of the protocol at /redfish, which needs no login either. */
async function unsupportedVersions(wire: RedfishWire, status: number, signal: AbortSignal): Promise<string> {
  const answered = `${ROOT} answered ${status}`;
  if (status !== 404) return answered;
  const listed = await wire.ask({ method: 'GET', path: VERSIONS, signal }).catch((error: unknown) => {
    if (error instanceof RedfishFailure && (error.reason === 'Unreadable' || error.reason === 'NotRedfish'))
      return null;
    throw error;
  });
  const versions = Object.keys(fieldsOf(listed?.body)).filter((name) => /^v\d+$/.test(name));
  return versions.length === 0 ? answered : `${answered}; its Redfish is ${versions.join(', ')}, and not v1`;
}

/** Links of members are not followed where it can be avoided: they lead back to the system. */
function expandQueryOf(offered: Readonly<Record<string, unknown>>): string | null {
  const form = offered.NoLinks === true ? '.' : offered.ExpandAll === true ? '*' : null;
  if (form === null) return null;
  return `?$expand=${form}${offered.Levels === true ? '($levels=1)' : ''}`;
}
