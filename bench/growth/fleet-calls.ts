/** The calls of the fleet as a whole and of saved views. */
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { ViewService } from '../../src/gen/baremetal/fleet/v1/view_service_pb.ts';
import { type GrowthCall, stream, type Turn, unary } from './call.ts';
import { FLEET_SHAPE, machineIdOf } from './fill.ts';

const fleet = FleetService.method;
const views = ViewService.method;

const PAGE = 100;
/** Those of the console's list of machines. */
const CONSOLE_FACETS = [
  'effective_state',
  'phase',
  'service',
  'provider',
  'customer_id',
  'location.site',
  'effective_rack',
  'pool',
  'schedulable',
  'available',
  'hardware.model',
  'hardware.gpu.model',
  'hardware.memory_gib',
];

/** As the console's audit page asks. */
const PEOPLE = '(actor_kind=admin OR actor_kind=operator)';

const view = ({ unique }: Turn) => ({
  page: 'machines',
  name: `view-${unique}`,
  query: 'filter=phase%3DREADY',
});

export const FLEET_CALLS: readonly GrowthCall[] = [
  unary(fleet.listProviders, { use: 'daily', request: () => ({}) }),
  unary(fleet.whoAmI, { use: 'daily', request: () => ({}) }),
  unary(fleet.getOverview, { use: 'daily', request: () => ({}) }),
  unary(fleet.countMachines, {
    use: 'daily',
    variant: 'the facets of the console',
    request: () => ({ facets: CONSOLE_FACETS }),
  }),
  unary(fleet.countMachines, {
    use: 'daily',
    variant: 'the facets of one customer',
    request: () => ({ filter: 'customer_id=customer-3', facets: CONSOLE_FACETS }),
  }),
  unary(fleet.countMachines, {
    use: 'daily',
    variant: 'a label that few have',
    request: () => ({ filter: `labels.batch=${FLEET_SHAPE.lastBatch}`, facets: ['phase'] }),
  }),
  unary(fleet.countMachines, {
    use: 'daily',
    variant: 'the values of a label',
    request: () => ({ facets: ['labels.env'] }),
  }),
  unary(fleet.countMachines, {
    use: 'daily',
    variant: 'those that need attention',
    request: () => ({ filter: 'needs_attention = true', facets: ['effective_state', 'provider'] }),
  }),
  stream(fleet.indexMachines, {
    use: 'daily',
    variant: 'the first 500',
    request: () => ({ limit: 500 }),
  }),
  stream(fleet.indexMachines, {
    use: 'daily',
    variant: 'a label that few have',
    request: () => ({ filter: `labels.batch=${FLEET_SHAPE.lastBatch}` }),
  }),
  stream(fleet.indexMachines, { use: 'whole', variant: 'all ids', request: () => ({}) }),
  unary(fleet.getMachines, {
    use: 'daily',
    request: () => ({ machineIds: Array.from({ length: PAGE }, (_none, index) => machineIdOf(index * 7)) }),
  }),
  stream(fleet.watchEvents, {
    use: 'daily',
    variant: 'until it watches',
    request: () => ({}),
    last: () => true,
  }),
  ...(
    [
      ['first page', ''],
      ['one kind', 'kind=phase'],
      ['conditions that became true', 'kind=condition AND to=true'],
      ['what people did', PEOPLE],
      ['what one person did', `${PEOPLE} AND actor_id=alice`],
      ['what a person of few acts did', `${PEOPLE} AND actor_id=carol`],
      ['a kind that few have', 'kind=budget'],
    ] as const
  ).map(([variant, filter]) =>
    unary(fleet.listEvents, { use: 'daily', variant, request: () => ({ filter, pageSize: PAGE }) }),
  ),
  unary(fleet.listEvents, {
    use: 'daily',
    variant: 'of one machine',
    request: ({ machineId }) => ({ filter: `machine_id = "${machineId}"`, pageSize: PAGE }),
  }),
  unary(fleet.listEvents, {
    use: 'daily',
    variant: 'one kind of one machine',
    request: ({ machineId }) => ({
      filter: `machine_id = "${machineId}" AND kind = phase AND to = "READY"`,
      pageSize: 1,
    }),
  }),
  unary(fleet.getFleetHistory, {
    use: 'whole',
    variant: 'all operations of the last day',
    request: () => ({}),
  }),
  unary(fleet.getMetricHistory, { use: 'daily', request: ({ machineId }) => ({ machineId }) }),
];

export const VIEW_CALLS: readonly GrowthCall[] = [
  unary(views.listViews, { use: 'daily', request: () => ({ page: 'machines' }) }),
  unary(views.saveView, { use: 'daily', request: view }),
  unary(views.deleteView, {
    use: 'daily',
    request: async (turn) => {
      const { page, name } = await turn.client.unary(views.saveView, view(turn));
      return { page, name };
    },
  }),
  unary(views.shareView, { use: 'daily', request: view }),
  unary(views.unshareView, {
    use: 'daily',
    request: async (turn) => {
      const { page, name } = await turn.client.unary(views.shareView, view(turn));
      return { page, name };
    },
  }),
];
