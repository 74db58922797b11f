/** The systems of a BMC (ComputerSystem): the machine, and others where the vendor lists more. */

import { type Body, link, ok, type SimulatedNoun, versioned } from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';

const SYSTEMS = '/redfish/v1/Systems';

export const systems: SimulatedNoun = {
  routes: {
    [`GET ${SYSTEMS}`]: ({ bmc: { shape, fault } }) => {
      const ids = [shape.systemId, ...shape.moreSystems];
      if (fault === 'other-schema') return ok({ '@odata.id': SYSTEMS, Items: ids });
      return ok({
        '@odata.id': SYSTEMS,
        '@odata.type': '#ComputerSystemCollection.ComputerSystemCollection',
        Name: 'Computer System Collection',
        'Members@odata.count': ids.length,
        Members: ids.map((id) => link(`${SYSTEMS}/${id}`)),
      });
    },
    'GET {system}': ({ bmc }) =>
      bmc.fault === 'dangling'
        ? null
        : versioned(bmc, bmc.extended('system', machine(bmc)), bmc.system.version),
    [`GET ${SYSTEMS}/:id`]: ({ bmc: { shape }, path, parameters: { id } }) =>
      shape.moreSystems.some((other) => other === id)
        ? ok({
            '@odata.id': path,
            Id: id,
            Name: id,
            PowerState: 'On',
            Processors: link(`${path}/Processors`),
          })
        : null,
  },
};

function machine({ shape, systemPath, system }: RedfishSimulator): Body {
  return {
    '@odata.id': systemPath,
    '@odata.type': '#ComputerSystem.v1_13_0.ComputerSystem',
    Id: shape.systemId,
    Name: 'System',
    SystemType: 'Physical',
    Manufacturer: shape.manufacturer,
    Model: 'Simulated',
    SerialNumber: 'SIM0001',
    UUID: '38947555-7742-3448-3784-823347823834',
    PowerState: system.power,
    Status: { State: 'Enabled', Health: 'OK' },
    ProcessorSummary: { Count: 2, Status: { Health: 'OK' } },
    MemorySummary: { TotalSystemMemoryGiB: 96, Status: { Health: 'OK' } },
    BiosVersion: '1.2.3',
    SKU: 'SIM-SKU',
  };
}
