/** The light that shows which machine it is (LocationIndicatorActive, IndicatorLED), at the system or at the chassis. */
import {
  type Answer,
  type Body,
  failure,
  preconditionFailure,
  type SimulatedNoun,
  type SimulatedRequest,
  success,
} from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';

export class SimulatedIndicator {
  isOn = false;
  /** Accepts a change and does nothing. */
  isStuck = false;
}

/** A change of the indicator; null: it is of something else. */
export function changeIndicator(request: SimulatedRequest, at: 'system' | 'chassis'): Answer | null {
  const { bmc, body } = request;
  const { indicator, shape } = bmc;
  if (shape.indicator.at !== at) return null;
  const { LocationIndicatorActive: active, IndicatorLED: led } = body;
  if (active === undefined && led === undefined) return null;
  const refused = preconditionFailure(request, bmc.system.version);
  if (refused) return refused;
  const isLed = shape.indicator.form !== 'location';
  if (isLed ? typeof led !== 'string' : typeof active !== 'boolean')
    return failure(400, 'Base.1.8.PropertyUnknown', 'The property is not known.');
  if (isLed && !LED_VALUES[shape.indicator.form as LedForm].includes(led as string))
    return failure(400, 'Base.1.8.PropertyValueNotInList', `The value ${led as string} is not in the list.`);
  if (!indicator.isStuck)
    indicator.isOn = isLed ? isLit(shape.indicator.form as LedForm, led as string) : (active as boolean);
  return success(bmc);
}

type LedForm = 'blinks' | 'lit only' | 'lit when well';

const LED_VALUES: Readonly<Record<LedForm, readonly string[]>> = {
  blinks: ['Lit', 'Blinking', 'Off'],
  'lit only': ['Lit', 'Off'],
  'lit when well': ['Lit', 'Blinking'],
};

function isLit(form: LedForm, led: string): boolean {
  return form === 'lit when well' ? led === 'Blinking' : led !== 'Off';
}

export const indicator: SimulatedNoun = {
  routes: { 'PATCH {chassis}': (request) => changeIndicator(request, 'chassis') },
  adds: {
    system: (bmc) => (bmc.shape.indicator.at === 'system' ? shown(bmc) : {}),
    chassis: (bmc) => (bmc.shape.indicator.at === 'chassis' ? shown(bmc) : {}),
  },
};

function shown({ shape, indicator: { isOn } }: RedfishSimulator): Body {
  switch (shape.indicator.form) {
    case 'location':
      return { LocationIndicatorActive: isOn };
    case 'blinks':
      return { IndicatorLED: isOn ? 'Blinking' : 'Off' };
    case 'lit only':
      return { IndicatorLED: isOn ? 'Lit' : 'Off' };
    case 'lit when well':
      return { IndicatorLED: isOn ? 'Blinking' : 'Lit' };
  }
}
