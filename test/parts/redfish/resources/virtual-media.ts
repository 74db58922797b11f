/** The virtual CD drive of the manager (VirtualMedia). */

import {
  type Body,
  collection,
  failure,
  link,
  MANAGER,
  ok,
  type SimulatedNoun,
  success,
} from '../simulated-noun.ts';
import { accepted } from '../simulated-tasks.ts';
import type { RedfishSimulator } from '../simulator.ts';

const MEDIA = `${MANAGER}/VirtualMedia`;

export const virtualMedia: SimulatedNoun = {
  routes: {
    [`GET ${MEDIA}`]: (request) => collection(request, [`${MEDIA}/CD`], () => drive(request.bmc)),
    [`GET ${MEDIA}/CD`]: ({ bmc }) => ok(drive(bmc)),
    [`POST ${MEDIA}/CD/Actions/VirtualMedia.EjectMedia`]: ({ bmc }) => {
      if (bmc.media === null) return failure(409, 'Base.1.8.ResourceInUse', 'No media is inserted.');
      if (bmc.fault !== 'keeps-media') bmc.eject();
      return success(bmc);
    },
    [`POST ${MEDIA}/CD/Actions/VirtualMedia.InsertMedia`]: ({ bmc, body, path }) => {
      if (bmc.media !== null) return failure(409, 'Base.1.8.ResourceInUse', 'Media is inserted already.');
      if (typeof body.Image !== 'string')
        return failure(400, 'Base.1.8.ActionParameterMissing', 'The parameter Image is missing.');
      const { demanded, refused } = bmc.shape.media;
      for (const name of demanded.filter((each) => !(each in body)))
        return failure(400, 'Base.1.8.ActionParameterMissing', `The parameter ${name} is missing.`);
      for (const name of refused.filter((each) => each in body))
        return failure(400, 'Base.1.8.ActionParameterUnknown', `The parameter ${name} is unknown.`);
      const { Image: image } = body;
      if (bmc.insertsInTasks) {
        const finish = () => bmc.insert(image);
        return accepted(bmc.tasks.start({ name: 'Insert Media', target: path, finish }), bmc.shape);
      }
      if (bmc.fault !== 'keeps-media') bmc.insert(image);
      return success(bmc);
    },
  },
  adds: { manager: () => ({ VirtualMedia: link(MEDIA) }) },
};

function drive({ media }: RedfishSimulator): Body {
  const isThere = media !== null;
  return {
    '@odata.id': `${MEDIA}/CD`,
    '@odata.type': '#VirtualMedia.v1_4_0.VirtualMedia',
    Id: 'CD',
    Name: 'Virtual CD',
    MediaTypes: ['CD', 'DVD'],
    Image: media,
    Inserted: isThere,
    ConnectedVia: isThere ? 'URI' : 'NotConnected',
    Actions: {
      '#VirtualMedia.InsertMedia': { target: `${MEDIA}/CD/Actions/VirtualMedia.InsertMedia` },
      '#VirtualMedia.EjectMedia': { target: `${MEDIA}/CD/Actions/VirtualMedia.EjectMedia` },
    },
  };
}
