/**
 * The light that shows people which machine it is. Newer services have LocationIndicatorActive, older ones IndicatorLED, on the system
 * or on its chassis. What was set is what the service says afterwards.
 */
import { textOf, textsOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import { readBack } from '../service/read-back.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { chassisOf } from '../service/system-links.ts';
import type { VendorQuirk } from '../service/vendor-quirk.ts';

export type Indicator = 'on' | 'off';

export async function readIndicator(service: RedfishService): Promise<Indicator> {
  return indicatorOf(await findIndicator(service), await service.quirks());
}

export async function setIndicator(
  service: RedfishService,
  to: Indicator,
  { signal, log }: { readonly signal: AbortSignal; readonly log: (text: string) => void },
): Promise<void> {
  const quirks = await service.quirks();
  const place = await findIndicator(service);
  if (indicatorOf(place, quirks) === to) return;
  log(`Switching the indicator ${to} at ${place.path} over Redfish`);
  await change(service, place, to, quirks);
  const read = () => readIndicator(service);
  const found = await readBack(service, { read, isSet: (indicator) => indicator === to, signal });
  if (found !== to) throw new RedfishFailure('CommandRefused', service.where, `its indicator is not ${to}`);
}

/** A service that takes one of the values may refuse another: some blink, and some are only lit. */
async function change(
  service: RedfishService,
  place: Resource,
  to: Indicator,
  quirks: VendorQuirk,
): Promise<void> {
  if (typeof place.fields.LocationIndicatorActive === 'boolean') {
    await service.change(place, { LocationIndicatorActive: to === 'on' });
    return;
  }
  const allowed = textsOf(place.fields['IndicatorLED@Redfish.AllowableValues']);
  const choices = quirks.led[to].filter((value) => allowed.length === 0 || allowed.includes(value));
  let refused: unknown = new RedfishFailure('NotOffered', service.where, `${place.path} has no such light`);
  for (const value of choices) {
    try {
      await service.change(place, { IndicatorLED: value });
      return;
    } catch (error) {
      if (!(error instanceof RedfishFailure) || error.reason !== 'CommandRefused') throw error;
      refused = error;
    }
  }
  throw refused;
}

function indicatorOf({ fields }: Resource, { led }: VendorQuirk): Indicator {
  if (typeof fields.LocationIndicatorActive === 'boolean')
    return fields.LocationIndicatorActive ? 'on' : 'off';
  return led.on.includes(textOf(fields.IndicatorLED)) ? 'on' : 'off';
}

const isIndicator = ({ fields }: Resource) =>
  typeof fields.LocationIndicatorActive === 'boolean' || textOf(fields.IndicatorLED) !== '';

async function findIndicator(service: RedfishService): Promise<Resource> {
  const system = await service.system();
  if (isIndicator(system)) return system;
  const chassis = (await chassisOf(service, system)).find(isIndicator);
  if (chassis) return chassis;
  throw new RedfishFailure('NotOffered', service.where, 'an indicator of the machine');
}
