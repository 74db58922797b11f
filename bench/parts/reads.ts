/** Single reads against empty handlers, pages, counts, and the start. */
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import type { LoadClient } from '../client.ts';
import { latencies, type Percentiles, perSecond } from '../measure.ts';
import { type Figure, rounded } from '../rig/figures.ts';
import { httpPerSecond, postJson } from '../rig/http-load.ts';
import { restart } from '../rig/subject.ts';
import { growFleet } from './fill-fleet.ts';
import { register } from './operations.ts';
import type { Round } from './part.ts';

const CALLS_AT_ONCE = 64;
const READ_MACHINES = 500;
const GET_PATH = '/baremetal.v2.MachineService/GetMachine';

/** Answers stay bytes: what the client decodes is the same cost for every server. */
export async function measureGet(round: Round): Promise<readonly Figure[]> {
  const { subject, args, number, empty } = round;
  await register(round, `get-${number}`, READ_MACHINES);
  const get = (client: LoadClient) => (index: number) =>
    client.bytes(MachineService.method.getMachine, {
      machineId: `get-${number}-${index % READ_MACHINES}`,
    });
  await perSecond(args.gets / 4, CALLS_AT_ONCE, get(empty.grpc));
  const nothing = await perSecond(args.gets, CALLS_AT_ONCE, get(empty.grpc));
  await perSecond(args.gets / 4, CALLS_AT_ONCE, get(subject.client));
  const value = await perSecond(args.gets, CALLS_AT_ONCE, get(subject.client));
  return [
    {
      what: 'GetMachine over gRPC',
      unit: 'perSecond',
      value,
      base: { of: 'an empty grpc-js handler', value: nothing },
    },
  ];
}

export async function measureHttp(round: Round): Promise<readonly Figure[]> {
  const { subject, args, number, empty } = round;
  const { server } = subject;
  await register(round, `http-${number}`, READ_MACHINES);
  const requests = Array.from({ length: READ_MACHINES }, (_none, index) =>
    postJson(GET_PATH, server.token, JSON.stringify({ machineId: `http-${number}-${index}` })),
  );
  const request = (index: number) => requests[index % READ_MACHINES] as Buffer;
  const load = { connections: CALLS_AT_ONCE, request };
  await httpPerSecond({ ...load, port: empty.httpPort, count: args.gets / 4 });
  const nothing = await httpPerSecond({ ...load, port: empty.httpPort, count: args.gets });
  await httpPerSecond({ ...load, port: server.httpPort, count: args.gets / 4 });
  const value = await httpPerSecond({ ...load, port: server.httpPort, count: args.gets });
  return [
    {
      what: 'GetMachine over HTTP (Connect JSON)',
      unit: 'perSecond',
      value,
      base: { of: 'an empty fastify route', value: nothing },
    },
  ];
}

function p50AndP99(what: string, { p50, p99 }: Percentiles): readonly Figure[] {
  return [
    { what: `${what}, p50`, unit: 'ms', value: p50 },
    { what: `${what}, p99`, unit: 'ms', value: p99 },
  ];
}

export async function measurePages({ subject, args }: Round): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const fleet of args.fleets) {
    await growFleet(subject, fleet);
    let pageToken = '';
    const page = async () => {
      const answer = await subject.client.unary(MachineService.method.listMachines, {
        pageSize: 100,
        pageToken,
      });
      pageToken = answer.nextPageToken;
    };
    const filtered = () =>
      subject.client.unary(MachineService.method.listMachines, {
        filter: 'effective_state=ATTENTION AND labels.env=prod',
      });
    await latencies(50, page);
    const of = `at ${rounded(fleet)}`;
    figures.push(...p50AndP99(`a page of 100 machines ${of}`, await latencies(200, page)));
    await latencies(10, filtered);
    figures.push(...p50AndP99(`a page of few that match ${of}`, await latencies(50, filtered)));
  }
  return figures;
}

/** Those that every commit has. */
const FACETS = ['effective_state', 'phase', 'service', 'install', 'presence', 'provider', 'pool'];

export async function measureOverview({ subject, args }: Round): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const fleet of args.fleets) {
    await growFleet(subject, fleet);
    const overview = () => subject.client.unary(FleetService.method.getOverview, {});
    const facets = () => subject.client.unary(FleetService.method.countMachines, { facets: FACETS });
    await latencies(3, overview);
    await latencies(3, facets);
    const of = `at ${rounded(fleet)} machines`;
    figures.push(...p50AndP99(`GetOverview ${of}`, await latencies(30, overview)));
    figures.push(...p50AndP99(`CountMachines with facets ${of}`, await latencies(30, facets)));
  }
  return figures;
}

export async function measureStart({ subject }: Round): Promise<readonly Figure[]> {
  return [
    {
      what: 'built server, from start to ready, existing database',
      unit: 'ms',
      value: await restart(subject),
    },
  ];
}
