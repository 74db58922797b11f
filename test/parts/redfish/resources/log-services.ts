/** The log that the BMC keeps of the machine (LogService, LogEntry), of the system or of the manager, and called as vendors call it. */
import {
  type Answer,
  type Body,
  collection,
  link,
  MANAGER,
  ok,
  type SimulatedNoun,
  type SimulatedRequest,
  success,
} from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly severity: string;
  readonly message: string;
  readonly sensor: string;
}

export class SimulatedLog {
  entries: Entry[] = [];
  #last = 0;

  add(message: string, severity: 'OK' | 'Warning' | 'Critical', { at = new Date(), sensor = '' } = {}): void {
    this.#last += 1;
    this.entries.push({ id: String(this.#last), at: at.toISOString(), severity, message, sensor });
  }

  /** Ids start again. */
  clear(): void {
    this.entries = [];
    this.#last = 0;
  }
}

export const logServices: SimulatedNoun = {
  routes: {
    'GET {system}/LogServices': (request) => services(request, 'system'),
    'GET {manager}/LogServices': (request) => services(request, 'manager'),
    'GET {system}/LogServices/:id': (request) => service(request, 'system'),
    'GET {manager}/LogServices/:id': (request) => service(request, 'manager'),
    'GET {system}/LogServices/:id/Entries': (request) => entries(request, 'system'),
    'GET {manager}/LogServices/:id/Entries': (request) => entries(request, 'manager'),
    'GET {system}/LogServices/:id/Entries/:entry': (request) => entry(request, 'system'),
    'GET {manager}/LogServices/:id/Entries/:entry': (request) => entry(request, 'manager'),
    'POST {system}/LogServices/:id/Actions/LogService.ClearLog': (request) => clear(request, 'system'),
    'POST {manager}/LogServices/:id/Actions/LogService.ClearLog': (request) => clear(request, 'manager'),
  },
  adds: {
    system: ({ systemPath, shape }) =>
      shape.log.at === 'system' ? { LogServices: link(`${systemPath}/LogServices`) } : {},
    manager: ({ shape }) =>
      shape.log.at === 'manager' ? { LogServices: link(`${MANAGER}/LogServices`) } : {},
  },
};

type Owner = 'system' | 'manager';

function services(request: SimulatedRequest, owner: Owner): Answer | null {
  const { bmc, path } = request;
  if (bmc.shape.log.at !== owner) return null;
  // Beside it, one that is not the machine's.
  const paths = [`${path}/Audit`, `${path}/${bmc.shape.log.id}`];
  return collection(request, paths, (one) => serviceBody(bmc, one));
}

function service({ bmc, path, parameters: { id = '' } }: SimulatedRequest, owner: Owner): Answer | null {
  const isThere = bmc.shape.log.at === owner && [bmc.shape.log.id, 'Audit'].includes(id);
  return isThere ? ok(serviceBody(bmc, path)) : null;
}

function serviceBody({ shape: { log } }: RedfishSimulator, path: string): Body {
  const id = path.split('/').pop() ?? '';
  return {
    '@odata.id': path,
    '@odata.type': '#LogService.v1_2_0.LogService',
    Id: id,
    Name: id,
    LogEntryType: id === log.id ? log.type : 'OEM',
    Entries: link(`${path}/Entries`),
    Actions: { '#LogService.ClearLog': { target: `${path}/Actions/LogService.ClearLog` } },
  };
}

/** Most services answer entries whole without being asked to, the newest or the oldest first. */
function entries(request: SimulatedRequest, owner: Owner): Answer | null {
  const { bmc, path, parameters, query } = request;
  const { log, pageOf } = bmc.shape;
  if (log.at !== owner || parameters.id !== log.id) return null;
  const all = bmc.log.entries.map((one) => entryBody(bmc, `${path}/${one.id}`, one));
  const listed = log.order === 'newest first' ? all.toReversed() : all;
  if (log.members === 'links')
    return collection(
      request,
      listed.map((one) => String(one['@odata.id'])),
      (one) => listed.find((body) => body['@odata.id'] === one),
    );
  const skip = Number(query.get('$skip') ?? 0);
  return ok({
    '@odata.id': path,
    Name: 'Log',
    'Members@odata.count': listed.length,
    Members: listed.slice(skip, skip + pageOf),
    ...(skip + pageOf < listed.length ? { 'Members@odata.nextLink': `${path}?$skip=${skip + pageOf}` } : {}),
  });
}

function entry({ bmc, path, parameters }: SimulatedRequest, owner: Owner): Answer | null {
  const found = bmc.log.entries.find(({ id }) => id === parameters.entry);
  const isHere = bmc.shape.log.at === owner && parameters.id === bmc.shape.log.id;
  return found && isHere ? ok(entryBody(bmc, path, found)) : null;
}

function entryBody(
  { shape: { log } }: RedfishSimulator,
  path: string,
  { id, at, severity, message, sensor }: Entry,
): Body {
  return {
    '@odata.id': path,
    '@odata.type': '#LogEntry.v1_7_0.LogEntry',
    Id: id,
    Name: `Entry ${id}`,
    EntryType: log.type,
    Severity: severity,
    Created: at,
    Message: message,
    ...(sensor === '' ? {} : { SensorType: sensor }),
  };
}

function clear({ bmc, parameters }: SimulatedRequest, owner: Owner): Answer | null {
  if (bmc.shape.log.at !== owner || parameters.id !== bmc.shape.log.id) return null;
  bmc.log.clear();
  return success(bmc);
}
