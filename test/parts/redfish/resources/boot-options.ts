/** The lasting boot order (ComputerSystem.Boot.BootOrder) and what it is an order of (BootOption). */
import { type Body, collection, failure, link, ok, type SimulatedNoun } from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';

const OPTIONS = [
  { Id: 'Boot0001', DisplayName: 'Debian', Alias: 'Hdd' },
  { Id: 'Boot0002', DisplayName: 'PXE Device 1: NIC 1 Port 1', Alias: 'Pxe' },
  { Id: 'Boot0003', DisplayName: 'PXE Device 2: NIC 2 Port 1', Alias: 'Pxe' },
  { Id: 'Boot0004', DisplayName: 'UEFI HTTP Boot', Alias: 'UefiHttp' },
];

export class SimulatedBootOrder {
  order = OPTIONS.map(({ Id }) => Id);
  /** For the next boot; null: nothing waits. */
  pending: string[] | null = null;

  boots(): void {
    if (this.pending) this.order = this.pending;
    this.pending = null;
  }
}

export const bootOptions: SimulatedNoun = {
  routes: {
    'GET {system}/BootOptions': (request) => {
      const at = (id: string) => `${request.path}/${id}`;
      return collection(
        request,
        OPTIONS.map(({ Id }) => at(Id)),
        (path) => bodyAt(path),
      );
    },
    'GET {system}/BootOptions/:id': ({ path }) => {
      const body = bodyAt(path);
      return body ? ok(body) : null;
    },
  },
  adds: {
    system: ({ systemPath, bootOrder: { order } }) => ({
      Boot: { BootOrder: order, BootOptions: link(`${systemPath}/BootOptions`) },
    }),
  },
};

function bodyAt(path: string): Body | undefined {
  const option = OPTIONS.find(({ Id }) => path.endsWith(`/${Id}`));
  return option && { '@odata.id': path, Name: 'Boot Option', BootOptionReference: option.Id, ...option };
}

/** Null: it was taken, or the change has none. */
export function changeBootOrder({ bootOrder, shape, fault }: RedfishSimulator, boot: Body) {
  const { BootOrder: wanted } = boot;
  if (!Array.isArray(wanted)) return null;
  const order = wanted.map(String);
  const isWhole = order.length === OPTIONS.length && OPTIONS.every(({ Id }) => order.includes(Id));
  if (!isWhole)
    return failure(400, 'Base.1.8.PropertyValueNotInList', 'The boot order has to have every boot option.');
  if (fault === 'ignores-boot') return null;
  if (shape.bootAt === 'settings') bootOrder.pending = order;
  else bootOrder.order = order;
  return null;
}
