/** The service root (ServiceRoot), which is read without a login. */
import { link, ok, type SimulatedNoun } from '../simulated-noun.ts';

export const serviceRoot: SimulatedNoun = {
  routes: {},
  open: {
    'GET /redfish': () => ok({ v1: '/redfish/v1/' }),
    'GET /redfish/v1': ({ bmc }) => ok(bmc.extended('root', {})),
  },
  adds: {
    root: ({ shape }) => ({
      '@odata.id': '/redfish/v1',
      '@odata.type': '#ServiceRoot.v1_9_0.ServiceRoot',
      Id: 'RootService',
      Name: 'Root Service',
      RedfishVersion: '1.11.0',
      UUID: '92384634-2938-2342-8820-489239905423',
      Systems: link('/redfish/v1/Systems'),
      Chassis: link('/redfish/v1/Chassis'),
      UpdateService: link('/redfish/v1/UpdateService'),
      ...(shape.expand === 'none'
        ? {}
        : { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true, Levels: true, MaxLevels: 1 } } }),
      Links: {},
      ...shape.root,
    }),
  },
};
