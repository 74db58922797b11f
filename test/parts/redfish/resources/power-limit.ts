/** What the machine draws, and how much it may: PowerControl of Power, or PowerLimitWatts of EnvironmentMetrics. */
import {
  type Answer,
  type Body,
  CHASSIS,
  failure,
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
  version = 1;
}

const POWER = `${CHASSIS}/Power`;
const METRICS = `${CHASSIS}/EnvironmentMetrics`;
const RANGE = { lowest: 200, highest: 1400 };

export const powerLimit: SimulatedNoun = {
  routes: {
    [`GET ${POWER}`]: ({ bmc }) =>
      bmc.shape.sensorsAt === 'older' ? versioned(bmc, limited(bmc), bmc.powerLimit.version) : null,
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
  },
};

/** What the sensors show of it, with its limit. */
function limited(bmc: RedfishSimulator): Body {
  const shown = power(bmc);
  if (bmc.shape.powerLimit !== 'control') return shown;
  const [first, ...more] = shown.PowerControl as Body[];
  return {
    ...shown,
    PowerControl: [{ ...first, PowerLimit: { LimitInWatts: bmc.powerLimit.watts } }, ...more],
  };
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
  at: 'control' | 'metrics',
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
