/** BIOS settings (Bios, its settings object, AttributeRegistry): what is changed waits for the next boot. */

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
import { accepted } from '../simulated-tasks.ts';
import type { RedfishSimulator } from '../simulator.ts';

type Value = string | number | boolean;

export class SimulatedBios {
  attributes: Record<string, Value> = {
    LogicalProc: 'Enabled',
    SriovGlobalEnable: 'Disabled',
    AcPwrRcvryUserDelay: 120,
    QuietBoot: true,
    SystemModelName: 'Simulated',
  };
  pending: Record<string, Value> = {};
  /** The firmware drops what waits instead of taking it over. */
  dropsPending = false;
  version = 1;

  boots(): void {
    if (!this.dropsPending) Object.assign(this.attributes, this.pending);
    this.pending = {};
    this.version += 1;
  }
}

const ENUMERATION = ['Enabled', 'Disabled'].map((value) => ({ ValueName: value, ValueDisplayName: value }));
const REGISTRY = [
  { AttributeName: 'LogicalProc', Type: 'Enumeration', Value: ENUMERATION },
  { AttributeName: 'SriovGlobalEnable', Type: 'Enumeration', Value: ENUMERATION },
  { AttributeName: 'AcPwrRcvryUserDelay', Type: 'Integer', LowerBound: 60, UpperBound: 600 },
  { AttributeName: 'QuietBoot', Type: 'Boolean' },
  { AttributeName: 'SystemModelName', Type: 'String', ReadOnly: true },
  { AttributeName: 'SetupPassword', Type: 'Password' },
];
const REGISTRIES = '/redfish/v1/Registries';
const REGISTRY_FILE = `${REGISTRIES}/BiosAttributeRegistry.v1_0_3`;
const REGISTRY_URI = '/registries/BiosAttributeRegistry.v1_0_3.json';

export const bios: SimulatedNoun = {
  routes: {
    'GET {system}/Bios': ({ bmc }) => versioned(bmc, current(bmc), bmc.bios.version),
    'GET {system}/Bios/:place': ({ bmc, path, parameters: { place } }) =>
      place === bmc.shape.bios.place ? versioned(bmc, pending(bmc, path), bmc.bios.version) : null,
    'PATCH {system}/Bios/:place': (request) =>
      request.parameters.place === request.bmc.shape.bios.place ? change(request) : null,
    [`GET ${REGISTRIES}`]: (request) => collection(request, [REGISTRY_FILE], () => registryFile()),
    [`GET ${REGISTRY_FILE}`]: () => ok(registryFile()),
    [`GET ${REGISTRY_URI}`]: () =>
      ok({ Id: 'BiosAttributeRegistry.v1_0_3', RegistryEntries: { Attributes: REGISTRY } }),
  },
  adds: {
    root: () => ({ Registries: link(REGISTRIES) }),
    system: ({ systemPath }) => ({ Bios: link(`${systemPath}/Bios`) }),
  },
};

function registryFile(): Body {
  return {
    '@odata.id': REGISTRY_FILE,
    Id: 'BiosAttributeRegistry.v1_0_3',
    Languages: ['en'],
    Registry: 'BiosAttributeRegistry.v1_0_3',
    Location: [{ Language: 'en', Uri: REGISTRY_URI }],
  };
}

function current({ systemPath, bios: { attributes }, shape }: RedfishSimulator): Body {
  const settings = {
    '@odata.type': '#Settings.v1_3_3.Settings',
    SettingsObject: link(`${systemPath}/Bios/${shape.bios.place}`),
    ...(shape.bios.applyTimes.length > 0 ? { SupportedApplyTimes: shape.bios.applyTimes } : {}),
  };
  return {
    '@odata.id': `${systemPath}/Bios`,
    '@odata.type': '#Bios.v1_2_0.Bios',
    Id: 'Bios',
    Name: 'BIOS',
    AttributeRegistry: 'BiosAttributeRegistry.v1_0_3',
    Attributes: attributes,
    ...(shape.bios.isNamed ? { '@Redfish.Settings': settings } : {}),
  };
}

function pending({ bios: { attributes, pending: waiting }, shape }: RedfishSimulator, path: string): Body {
  const listed = shape.bios.lists === 'all' ? { ...attributes, ...waiting } : waiting;
  return { '@odata.id': path, '@odata.type': '#Bios.v1_2_0.Bios', Id: 'Settings', Attributes: listed };
}

function change(request: SimulatedRequest): Answer {
  const { bmc, path } = request;
  const wanted = (request.body.Attributes ?? {}) as Record<string, Value>;
  const refused = preconditionFailure(request, bmc.bios.version);
  if (refused) return refused;
  const unknown = Object.keys(wanted).find((name) => !Object.hasOwn(bmc.bios.attributes, name));
  if (unknown !== undefined)
    return failure(400, 'Base.1.8.PropertyUnknown', `The property ${unknown} is not in the list.`);
  Object.assign(bmc.bios.pending, wanted);
  bmc.bios.version += 1;
  if (!bmc.shape.scheduledJobs) return success(bmc);
  const work = { name: 'Configure: BIOS', target: path, finish: () => {}, waitsForReset: true } as const;
  return accepted(bmc.tasks.start(work), bmc.shape);
}
