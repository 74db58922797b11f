/** What the machine draws, and how much it may: PowerControl of Power, or PowerLimitWatts of EnvironmentMetrics. */
import {
  type Answer,
  type Body,
  CHASSIS,
  failure,
  link,
  MANAGER,
  ok,
  preconditionFailure,
  type SimulatedNoun,
  type SimulatedRequest,
  success,
  versioned,
} from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';
import { power } from './sensors.ts';

export class SimulatedPowerLimit {
  /** Null: none. */
  watts: number | null = null;
  /** What it is where it is switched on, also while it is off. */
  setWatts = 1205;
  version = 1;
}

const POWER = `${CHASSIS}/Power`;
const METRICS = `${CHASSIS}/EnvironmentMetrics`;
/** As an iDRAC has them. */
const ATTRIBUTES = `${MANAGER}/Oem/Dell/DellAttributes/System.Embedded.1`;
const SWITCH = 'ServerPwr.1.PowerCapSetting';
const VALUE = 'ServerPwr.1.PowerCapValue';
const RANGE = { lowest: 200, highest: 1400 };

export const powerLimit: SimulatedNoun = {
  routes: {
    [`GET ${POWER}`]: ({ bmc }) =>
      bmc.shape.sensorsAt === 'older' || bmc.shape.powerLimit === 'switched'
        ? versioned(bmc, limited(bmc), bmc.powerLimit.version)
        : null,
    [`GET ${METRICS}`]: ({ bmc }) =>
      bmc.shape.powerLimit === 'metrics' ? versioned(bmc, metrics(bmc), bmc.powerLimit.version) : null,
    [`PATCH ${POWER}`]: (request) =>
      change(request, 'control', ({ PowerControl: controls }) => {
        const [control] = (controls ?? []) as { PowerLimit?: { LimitInWatts?: number | null } }[];
        return control?.PowerLimit?.LimitInWatts;
      }),
    [`PATCH ${METRICS}`]: (request) =>
      change(request, 'metrics', ({ PowerLimitWatts: limit }) => {
        const { SetPoint: point, ControlMode: mode } = (limit ?? {}) as {
          SetPoint?: number;
          ControlMode?: string;
        };
        return mode === 'Disabled' ? null : point;
      }),
    [`GET ${ATTRIBUTES}`]: ({ bmc }) =>
      bmc.shape.powerLimit === 'switched'
        ? ok({ '@odata.id': ATTRIBUTES, Attributes: attributes(bmc) })
        : null,
    [`PATCH ${ATTRIBUTES}`]: (request) =>
      change(request, 'switched', ({ Attributes: given }) => {
        const { [SWITCH]: setting, [VALUE]: watts = request.bmc.powerLimit.setWatts } = (given ?? {}) as Body;
        request.bmc.powerLimit.setWatts = Number(watts);
        return setting === 'Enabled' ? Number(watts) : null;
      }),
  },
  adds: {
    system: (bmc) =>
      bmc.shape.powerLimit === 'switched'
        ? { Oem: { Dell: { DellSystem: { PowerCapEnabledState: attributes(bmc)[SWITCH] } } } }
        : {},
    manager: (bmc) =>
      bmc.shape.powerLimit === 'switched'
        ? { Links: { Oem: { Dell: { DellAttributes: [link(ATTRIBUTES)] } } } }
        : {},
  },
};

/** What the sensors show of it, with its limit. */
function limited(bmc: RedfishSimulator): Body {
  const shown = power(bmc);
  if (bmc.shape.powerLimit !== 'control' && bmc.shape.powerLimit !== 'switched') return shown;
  const [first, ...more] = shown.PowerControl as Body[];
  const watts = bmc.shape.powerLimit === 'switched' ? bmc.powerLimit.setWatts : bmc.powerLimit.watts;
  return { ...shown, PowerControl: [{ ...first, PowerLimit: { LimitInWatts: watts } }, ...more] };
}

function attributes({ powerLimit: { watts, setWatts } }: RedfishSimulator): Body {
  return { [SWITCH]: watts === null ? 'Disabled' : 'Enabled', [VALUE]: setWatts };
}

function metrics({ powerLimit: { watts }, sensors }: RedfishSimulator): Body {
  return {
    '@odata.id': METRICS,
    '@odata.type': '#EnvironmentMetrics.v1_3_0.EnvironmentMetrics',
    Id: 'EnvironmentMetrics',
    Name: 'Environment Metrics',
    PowerWatts: { Reading: sensors.watts },
    PowerLimitWatts: {
      SetPoint: watts ?? RANGE.highest,
      ControlMode: watts === null ? 'Disabled' : 'Automatic',
      AllowableMin: RANGE.lowest,
      AllowableMax: RANGE.highest,
    },
  };
}

function change(
  request: SimulatedRequest,
  at: 'control' | 'metrics' | 'switched',
  wattsOf: (body: Body) => number | null | undefined,
): Answer | null {
  const { bmc, body } = request;
  if (bmc.shape.powerLimit !== at) return null;
  const refused = preconditionFailure(request, bmc.powerLimit.version);
  if (refused) return refused;
  const watts = wattsOf(body);
  if (watts === undefined) return failure(400, 'Base.1.8.PropertyMissing', 'The limit is missing.');
  if (watts !== null && (watts < RANGE.lowest || watts > RANGE.highest))
    return failure(400, 'Base.1.8.PropertyValueOutOfRange', `The value ${watts} is out of range.`);
  bmc.powerLimit.watts = watts;
  bmc.powerLimit.version += 1;
  return success(bmc);
}
