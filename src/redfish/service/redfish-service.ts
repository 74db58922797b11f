/** A Redfish service whose lock we hold: its resources, read and changed. */
import type { WebSocketStream } from '../../connections/web-socket.ts';
import { fieldsOf, linkOf, textOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishSession, ServiceRoot } from '../connection/redfish-session.ts';
import { refusal, type Upload, type WireAnswer } from '../connection/redfish-wire.ts';
import { taskOf } from './redfish-task.ts';
import { versionsOf } from './resource-version.ts';
import { messageRule, type VendorQuirk } from './vendor-quirk.ts';

export interface Resource {
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Its versions, as the header and the body name it: not every service takes both. */
  readonly etags: readonly string[];
}

/** A change that was accepted, and is carried out in a task of the service. */
export interface StartedTask {
  /** Null: the service does not say which. */
  readonly monitor: string | null;
  /** The request that it carries out. */
  readonly target: string;
}

const MAX_PAGES = 100;
/** The work goes on after the answer. */
const ACCEPTED = 202;
/** A change without If-Match is refused. */
const VERSION_REQUIRED = 428;

/** Texts in every resource that has them. */
const TEXTS = ['Id', 'Name', 'Manufacturer', 'Model', 'SerialNumber', 'PartNumber', 'UUID', 'SKU'] as const;

const lastOf = (path: string) => path.split('/').pop() ?? '';

const isEmpty = (member: unknown) =>
  member === null || (typeof member === 'object' && Object.keys(member).length === 0);

/** Every resource has an id; a link has not. */
const isWhole = (member: Readonly<Record<string, unknown>>) => textOf(member.Id) !== '';

export class RedfishService {
  readonly #session: RedfishSession;
  readonly #call: { readonly checkHeld: () => void; readonly signal: AbortSignal };
  readonly #wantedSystem: string | null;

  constructor(
    session: RedfishSession,
    wantedSystem: string | null,
    call: { readonly checkHeld: () => void; readonly signal: AbortSignal },
  ) {
    this.#session = session;
    this.#wantedSystem = wantedSystem;
    this.#call = call;
  }

  get where(): string {
    return this.#session.wire.where;
  }

  /** How long the service may take for an answer, and to show what it has accepted. */
  get limitMs(): number {
    return this.#session.wire.limitMs;
  }

  quirks(): Promise<VendorQuirk> {
    return this.#session.quirks(this.#call.signal);
  }

  /** An answer of any status, for what is no resource, such as a task monitor. */
  ask(path: string): Promise<WireAnswer> {
    return this.#session.ask({ method: 'GET', path, signal: this.#call.signal });
  }

  /** Null: there is none at this path. */
  openSocket(path: string): Promise<WebSocketStream | null> {
    return this.#session.openSocket(path, this.#call.signal);
  }

  /** Null: it does not exist. */
  async find(path: string): Promise<Resource | null> {
    const answer = await this.ask(path);
    if (answer.status === 404) return null;
    if (answer.status >= 300) throw refusal(this.where, path, answer);
    const fields = fieldsOf(answer.body);
    this.#checkTexts(path, fields);
    return { path, fields, etags: versionsOf(answer.headers.etag ?? '', textOf(fields['@odata.etag'])) };
  }

  /** What has another type than every schema gives it is not taken for a part that has lost its name or its number. */
  #checkTexts(path: string, fields: Resource['fields']): void {
    const name = TEXTS.find((each) => typeof (fields[each] ?? '') !== 'string');
    if (name !== undefined)
      throw new RedfishFailure('Unreadable', this.where, `the ${name} of ${path} is no text`);
  }

  /** Where changes of a resource wait for the next reset; null: it has no such place. */
  async settingsOf({ path, fields }: Resource): Promise<Resource | null> {
    const named = linkOf(fieldsOf(fields['@Redfish.Settings']).SettingsObject);
    if (named !== null) return this.get(named);
    const { settingsNames } = await this.quirks();
    for (const name of settingsNames) {
      const found = await this.find(`${path}/${name}`);
      if (found !== null) return found;
    }
    return null;
  }

  async get(path: string): Promise<Resource> {
    const found = await this.find(path);
    if (found) return found;
    throw this.#isMissing(path);
  }

  #isMissing(path: string): RedfishFailure {
    return new RedfishFailure('Unreadable', this.where, `${path} is linked and does not exist`);
  }

  /** The paths of a collection's members, over all its pages. */
  async members(path: string): Promise<string[]> {
    return this.#membersFrom(path, await this.get(path));
  }

  async #membersFrom(path: string, first: Resource): Promise<string[]> {
    const paths: string[] = [];
    const read = new Set<string>();
    let next: string | null = path;
    for (let page = 0; next !== null; page += 1) {
      if (page === MAX_PAGES) throw this.#tooManyPages(path);
      read.add(next);
      const { fields } = page === 0 ? first : await this.get(next);
      paths.push(...this.#linksOf(path, fields.Members));
      next = this.#nextPage(path, fields, read);
    }
    return [...new Set(paths)];
  }

  /** A member that can't be read is not one that is gone. */
  #linksOf(path: string, members: unknown): string[] {
    if (!Array.isArray(members)) throw new RedfishFailure('Unreadable', this.where, `${path} has no members`);
    return members
      .filter((member) => !isEmpty(member))
      .map((member) => {
        const link = linkOf(member);
        if (link !== null) return link;
        throw new RedfishFailure('Unreadable', this.where, `${path} has a member without an address`);
      });
  }

  /** Null: there is no other page, or only one that was read already: services exist that ignore the query of their own link. */
  #nextPage(path: string, fields: Resource['fields'], read: ReadonlySet<string>): string | null {
    const next = fields['Members@odata.nextLink'] ?? fields['@odata.nextLink'] ?? null;
    if (next === null || next === '') return null;
    const link = linkOf({ '@odata.id': next });
    if (link !== null) return read.has(link) ? null : link;
    throw new RedfishFailure('Unreadable', this.where, `${path} has a next page without an address`);
  }

  /**
   * The members of a collection, whole: by one query where the service expands collections, and one by one where it does not, or
   * answers the query with anything but whole members. A member that is listed and does not exist is left out: services list drives
   * and cards that were taken out.
   */
  async resources(path: string): Promise<Resource[]> {
    return this.firstResources(path, Number.POSITIVE_INFINITY);
  }

  /** At most so many of them. */
  async firstResources(path: string, limit: number): Promise<Resource[]> {
    const found = await this.resourcesIfThere(path, limit);
    if (found) return found;
    throw this.#isMissing(path);
  }

  /** As above. Null: the collection is linked and does not exist, as services with fewer parts than they announce have it. */
  async resourcesIfThere(path: string, limit = Number.POSITIVE_INFINITY): Promise<Resource[] | null> {
    const expanded = await this.#expanded(path);
    if (expanded !== null) return expanded.slice(0, limit);
    const first = await this.find(path);
    if (first === null) return null;
    const found: Resource[] = [];
    for (const member of (await this.#membersFrom(path, first)).slice(0, limit)) {
      const resource = await this.find(member);
      if (resource) found.push(resource);
    }
    return found;
  }

  /** What a search for the machine's log found, kept with the session: it takes several requests. */
  get logs(): Map<string, string | null> {
    return this.#session.logs;
  }

  /** Whether collections answer their members whole: reading all of them is one request, and not one for each. */
  async expands(): Promise<boolean> {
    return (await this.root()).expandQuery !== null;
  }

  /** Null: it does not expand, or not this collection. */
  async #expanded(path: string): Promise<Resource[] | null> {
    const { expandQuery } = await this.root();
    if (expandQuery === null || this.#session.unexpanded.has(path)) return null;
    const resources = new Map<string, Resource>();
    const read = new Set<string>();
    let next: string | null = `${path}${expandQuery}`;
    for (let page = 0; next !== null; page += 1) {
      if (page === MAX_PAGES) throw this.#tooManyPages(path);
      read.add(next);
      const { signal } = this.#call;
      const answer = await this.#session.ask({ method: 'GET', path: next, signal });
      const fields = fieldsOf(answer.body);
      const members = Array.isArray(fields.Members) ? fields.Members.map(fieldsOf) : null;
      if (answer.status >= 300 || members === null || !members.every(isWhole)) {
        this.#session.unexpanded.add(path);
        return null;
      }
      for (const member of members) {
        const at = linkOf(member) ?? `${path}/${textOf(member.Id)}`;
        this.#checkTexts(at, member);
        const etags = versionsOf('', textOf(member['@odata.etag']));
        resources.set(at, { path: at, fields: member, etags });
      }
      next = this.#nextPage(path, fields, read);
    }
    return [...resources.values()];
  }

  #tooManyPages(path: string): RedfishFailure {
    return new RedfishFailure('Unreadable', this.where, `${path} has more than ${MAX_PAGES} pages`);
  }

  root(): Promise<ServiceRoot> {
    return this.#session.root(this.#call.signal);
  }

  /** The machine's system: the one that its endpoint names, or the only one there is. */
  async system(): Promise<Resource> {
    const known = this.#wantedSystem ?? this.#session.systems.get('');
    const found = known === undefined ? null : await this.find(known);
    if (found) return found;
    // Another firmware may call it otherwise than the one that was asked before.
    this.#session.systems.delete('');
    const wanted = this.#wantedSystem ?? (await this.#onlySystem());
    const system = wanted === known ? null : await this.find(wanted);
    if (system) return system;
    this.#session.systems.delete('');
    throw new RedfishFailure('SystemNotFound', this.where, wanted);
  }

  /** Boards of the machine that the service lists as systems beside it. */
  async boards(machine: Resource): Promise<Resource[]> {
    const { notMachines } = await this.quirks();
    if (notMachines === null) return [];
    const paths = (await this.#listedSystems()).filter((path) => notMachines.test(lastOf(path)));
    const found: Resource[] = [];
    for (const path of paths) {
      const board = path === machine.path ? null : await this.find(path);
      if (board) found.push(board);
    }
    return found;
  }

  async #listedSystems(): Promise<string[]> {
    const { systems } = await this.#session.root(this.#call.signal);
    return systems === null ? [] : this.members(systems);
  }

  async #onlySystem(): Promise<string> {
    const { notMachines } = await this.quirks();
    const machines = (await this.#listedSystems()).filter((path) => !notMachines?.test(lastOf(path)));
    const [only, ...more] = machines;
    if (only === undefined) throw new RedfishFailure('SystemNotFound', this.where, 'it lists no system');
    if (more.length > 0) {
      const several = `it has several; name one in spec.bmc_endpoint: ${machines.join(', ')}`;
      throw new RedfishFailure('SystemNotFound', this.where, several);
    }
    this.#session.systems.set('', only);
    return only;
  }

  /**
   * Changes a resource that was just read. Where the service compares versions and takes none of those that it gave, someone else
   * has changed the resource meanwhile: the change is refused.
   */
  async change(resource: Resource, fields: Readonly<Record<string, unknown>>): Promise<StartedTask | null> {
    const { withoutVersion } = await this.quirks();
    const none = withoutVersion === 'any' ? '*' : undefined;
    const versions = resource.etags.length === 0 ? [none] : resource.etags;
    let answer: WireAnswer | null = null;
    for (const etag of versions) {
      const headers = etag === undefined ? {} : { 'if-match': etag };
      answer = await this.#effect({ method: 'PATCH', path: resource.path, body: fields, headers });
      if (answer.status !== 412) break;
    }
    // One that demands a version and gives none takes any.
    if (answer?.status === VERSION_REQUIRED && resource.etags.length === 0 && none === undefined) {
      const headers = { 'if-match': '*' };
      answer = await this.#effect({ method: 'PATCH', path: resource.path, body: fields, headers });
    }
    return this.#started(resource.path, answer);
  }

  async post(path: string, fields: Readonly<Record<string, unknown>>): Promise<StartedTask | null> {
    return this.#started(path, await this.#effect({ method: 'POST', path, body: fields }));
  }

  /** What does not exist is deleted. */
  async delete(path: string, fields?: Readonly<Record<string, unknown>>): Promise<StartedTask | null> {
    const answer = await this.#effect({ method: 'DELETE', path, ...(fields && { body: fields }) });
    return answer.status === 404 ? null : this.#started(path, answer);
  }

  /** Sends a file with its parts of JSON before it. It may take as long as the file needs. */
  async upload(path: string, upload: Upload): Promise<StartedTask | null> {
    return this.#started(path, await this.#effect({ method: 'POST', path, upload }));
  }

  /** Sent only while we hold the operation. */
  async #effect(request: {
    readonly method: 'PATCH' | 'POST' | 'DELETE';
    readonly path: string;
    readonly body?: unknown;
    readonly upload?: Upload;
    readonly headers?: Readonly<Record<string, string>>;
  }): Promise<WireAnswer> {
    const { checkHeld, signal } = this.#call;
    checkHeld();
    return this.#session.ask({ ...request, signal, beforeSending: checkHeld });
  }

  /** A success may have a body that looks like an error, and an error may say that there was nothing to do. */
  #started(path: string, answer: WireAnswer | null): StartedTask | null {
    if (!answer) throw new TypeError('nothing was sent');
    if (answer.status >= 300 && messageRule(answer.messages) !== 'already so')
      throw refusal(this.where, path, answer);
    const monitor = taskOf(answer);
    return monitor === null && answer.status !== ACCEPTED ? null : { monitor, target: path };
  }
}
