/** A gRPC server with the real services and no engine: operations move only when a test plays them. */
import { EventEmitter, once } from 'node:events';
import {
  create,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { anyPack, timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import {
  AdminService,
  type ExplanationSchema,
  type OperatorActionRecordSchema,
  type PoolSchema,
  TokenSchema,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { BmcService } from '../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import {
  type HardwareChangeSchema,
  type HardwareDiffSchema,
  type HardwareLogEntrySchema,
  type HardwareSchema,
  HardwareService,
  type LemonScoreSchema,
  type ListSensorsResponseSchema,
  type SensorSeriesSchema,
} from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { MachineService as V1MachineService } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import type { Plan } from '../../src/gen/baremetal/v1/plan_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { type Machine, MachineSchema } from '../../src/gen/baremetal/v2/machine_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import {
  type Operation,
  Operation_Phase,
  OperationSchema,
  OperationType,
} from '../../src/gen/baremetal/v2/operation_pb.ts';
import {
  type LogChunk,
  LogChunkSchema,
  type OperationEvent,
  OperationEvent_Kind,
  OperationEventSchema,
  OperationService,
} from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { BadRequestSchema, ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.ts';
import { rolloutHandlersOf } from './fake-rollouts.ts';
import { v1HandlersOf } from './fake-v1.ts';

export const START = Date.parse('2026-01-30T10:00:00Z');
export const at = (seconds: number) => timestampFromMs(START + seconds * 1000);

interface FaultInfo {
  readonly reason: string;
  readonly metadata?: Record<string, string>;
  readonly fieldViolations?: readonly { readonly field: string; readonly description: string }[];
}

/** An error as the server sends it: status, reason and metadata in the trailer. */
export class WireFault extends Error {
  readonly code: status;
  readonly metadata = new Metadata();

  constructor(code: status, message: string, info?: FaultInfo) {
    super(message);
    this.code = code;
    if (info === undefined) return;
    const { reason, metadata = {}, fieldViolations = [] } = info;
    const details = [
      anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { domain: 'ingot', reason, metadata })),
      anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: [...fieldViolations] })),
    ];
    const encoded = toBinary(StatusSchema, create(StatusSchema, { code, message, details }));
    this.metadata.set('grpc-status-details-bin', Buffer.from(encoded));
  }
}

interface Recorded {
  readonly method: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test knows which request it reads
  readonly request: any;
  readonly authorization: string | undefined;
}

export interface FakeWatch {
  readonly filter: string;
  readonly cursor: string;
  readonly sendSynced: boolean;
}

export class FakeFleet {
  readonly machines = new Map<string, Machine>();
  readonly operations = new Map<string, Operation>();
  readonly plans = new Map<string, Plan>();
  pools: Array<MessageInitShape<typeof PoolSchema>> = [];
  explanation: MessageInitShape<typeof ExplanationSchema> = { inService: true };
  actions: MessageInitShape<typeof OperatorActionRecordSchema>[] = [];
  hardware: MessageInitShape<typeof HardwareSchema> = {};
  hardwareChanges: MessageInitShape<typeof HardwareChangeSchema>[] = [];
  hardwareDiff: MessageInitShape<typeof HardwareDiffSchema> = {};
  sensors: MessageInitShape<typeof ListSensorsResponseSchema> = {};
  sensorSeries: MessageInitShape<typeof SensorSeriesSchema>[] = [];
  hardwareLog: MessageInitShape<typeof HardwareLogEntrySchema>[] = [];
  lemons: MessageInitShape<typeof LemonScoreSchema>[] = [];
  pinnedSha256 = '';

  bmcCertificate(machineId: string) {
    this.machine(machineId);
    const validity = { validFrom: at(0), validTo: at(86_400) };
    return {
      machineId,
      sha256: 'ab'.repeat(32),
      subject: 'CN=bmc',
      issuer: 'CN=bmc',
      ...validity,
      pinnedSha256: this.pinnedSha256,
    };
  }
  readonly events: OperationEvent[] = [];
  readonly logs: LogChunk[] = [];
  readonly calls: Recorded[] = [];
  readonly news = new EventEmitter().setMaxListeners(0);
  /** Called when an operation has been accepted. */
  onStart: (operation: Operation) => void = () => {};
  /** Called before every answer; throw to refuse. */
  onCall: (method: string, request: unknown) => void = () => {};
  nextOperationIds: string[] = [];
  /** Machines that a rollout can't start. */
  readonly refusals = new Map<string, { errorCode: string; message: string }>();
  pageSize = 1000;

  addMachine(machine: MessageInitShape<typeof MachineSchema>): Machine {
    const added = create(MachineSchema, machine);
    this.machines.set(added.machineId, added);
    return added;
  }

  change(
    operationId: string,
    change: Partial<Operation>,
    kind = OperationEvent_Kind.OPERATION,
    seconds = 0,
  ): void {
    const operation = create(OperationSchema, { ...this.operation(operationId), ...change });
    this.operations.set(operationId, operation);
    const event = { ts: at(seconds), snapshot: operation, kind, cursor: String(this.events.length) };
    this.events.push(create(OperationEventSchema, event));
    this.news.emit('news');
  }

  log(operationId: string, step: string, text: string, seconds = 0): void {
    const data = new TextEncoder().encode(`${text}\n`);
    const chunk = {
      ts: at(seconds),
      operationId,
      stream: 'stdout',
      data,
      step,
      cursor: String(this.logs.length),
    };
    this.logs.push(create(LogChunkSchema, chunk));
    this.news.emit('news');
  }

  operation(operationId: string): Operation {
    const operation = this.operations.get(operationId);
    if (operation !== undefined) return operation;
    throw new WireFault(status.NOT_FOUND, `operation ${operationId} not found`, {
      reason: 'OPERATION_NOT_FOUND',
    });
  }

  /** All of them, those of one machine, or those with these ids. */
  operationsOf(filter: string): Operation[] {
    const [, machineId] = /^machine_id=(\S+)$/.exec(filter) ?? [];
    const ids = new Set([...filter.matchAll(/operation_id=([\w.-]+)/g)].map(([, id]) => id));
    const all = [...this.operations.values()];
    if (ids.size > 0) return all.filter(({ operationId }) => ids.has(operationId));
    return machineId === undefined ? all : all.filter((operation) => operation.machineId === machineId);
  }

  machine(machineId: string): Machine {
    const machine = this.machines.get(machineId);
    if (machine !== undefined) return machine;
    throw new WireFault(status.NOT_FOUND, `machine ${machineId} not found`, { reason: 'MACHINE_NOT_FOUND' });
  }

  start(type: OperationType, { machineId, requestId }: { machineId: string; requestId: string }): Operation {
    this.machine(machineId);
    const replayed = [...this.operations.values()].find(
      (o) => o.machineId === machineId && o.requestId === requestId,
    );
    if (replayed !== undefined) return replayed;
    const operationId = this.nextOperationIds.shift() ?? `op-${machineId}`;
    const phase = Operation_Phase.PENDING;
    const operation = create(OperationSchema, {
      operationId,
      machineId,
      requestId,
      type,
      phase,
      createdAt: at(0),
    });
    this.operations.set(operationId, operation);
    this.onStart(operation);
    return operation;
  }

  async *watch({ filter, cursor, sendSynced }: FakeWatch): AsyncGenerator<OperationEvent> {
    const wanted = [...filter.matchAll(/(operation_id|machine_id)=([\w.-]+)/g)];
    const isWanted = (o: Operation | undefined): boolean =>
      wanted.length === 0 ||
      wanted.some(([, field, id]) => id === (field === 'machine_id' ? o?.machineId : o?.operationId));
    let next = cursor === '' ? this.events.length : Number(cursor) + 1;
    if (cursor === '') {
      for (const snapshot of this.operations.values()) {
        const kind = OperationEvent_Kind.SNAPSHOT;
        if (isWanted(snapshot) && !isOver(snapshot))
          yield create(OperationEventSchema, { snapshot, kind, ts: at(0) });
      }
      if (sendSynced)
        yield create(OperationEventSchema, { kind: OperationEvent_Kind.SYNCED, cursor: String(next - 1) });
    }
    for (;;) {
      for (; next < this.events.length; next++) {
        const event = this.events[next];
        if (event !== undefined && isWanted(event.snapshot)) yield event;
      }
      await once(this.news, 'news');
    }
  }

  async *logsOf({ operationId, cursor }: { operationId: string; cursor: string }): AsyncGenerator<LogChunk> {
    let next = cursor === '' ? 0 : Number(cursor) + 1;
    for (;;) {
      for (; next < this.logs.length; next++) {
        const chunk = this.logs[next];
        if (chunk?.operationId === operationId) yield chunk;
      }
      if (isOver(this.operation(operationId))) return;
      await once(this.news, 'news');
    }
  }
}

function isOver({ phase }: Operation): boolean {
  return phase > Operation_Phase.RUNNING;
}

// biome-ignore lint/suspicious/noExplicitAny: handlers are distinguished by name alone
export type Handler = (request: any) => unknown;

export function page<T>(
  fleet: FakeFleet,
  all: readonly T[],
  request: { pageSize: number; pageToken: string },
) {
  const from = Number(request.pageToken || 0);
  const to = from + Math.min(fleet.pageSize, request.pageSize);
  return { items: all.slice(from, to), nextPageToken: to < all.length ? String(to) : '' };
}

function handlersOf(fleet: FakeFleet): Record<string, Handler> {
  return {
    registerMachine: ({ machine: { machineId, labels, spec } }) =>
      fleet.addMachine({
        machineId: machineId || 'm-made-up',
        labels,
        spec,
        status: { phase: 1, effectiveState: 1 },
      }),
    getMachine: ({ machineId }) => fleet.machine(machineId),
    listMachines: (request) => {
      const { items, nextPageToken } = page(fleet, [...fleet.machines.values()], request);
      return { machines: items, nextPageToken };
    },
    updateMachine: ({ machine }) => fleet.machine(machine.machineId),
    rebootMachine: (request) => fleet.start(OperationType.REBOOT, request),
    reimageMachine: (request) => fleet.start(OperationType.REIMAGE, request),
    enterMaintenance: (request) => fleet.start(OperationType.ENTER_MAINTENANCE, request),
    exitMaintenance: (request) => fleet.start(OperationType.EXIT_MAINTENANCE, request),
    cancelOperation: ({ operationId }) => {
      fleet.change(operationId, { cancelRequested: true });
      return fleet.operation(operationId);
    },
    getOperation: ({ operationId }) => fleet.operation(operationId),
    listOperations: (request) => {
      const { items, nextPageToken } = page(fleet, fleet.operationsOf(request.filter), request);
      return { operations: items, nextPageToken };
    },
    watchOperations: (request) => fleet.watch(request),
    streamOperationLogs: (request) => fleet.logsOf(request),
    flagMachine: ({ machineId }) => fleet.machine(machineId),
    unflagMachine: ({ machineId }) => fleet.machine(machineId),
    clearNeedsIntervention: ({ machineId }) => fleet.machine(machineId),
    actOnOperation: ({ operationId }) => fleet.operation(operationId),
    listOperatorActions: () => ({ actions: fleet.actions }),
    explainMachine: ({ machineId }) => {
      fleet.machine(machineId);
      return fleet.explanation;
    },
    onboardMachine: (request) => fleet.start(OperationType.ONBOARD, request),
    decommissionMachine: (request) => fleet.start(OperationType.DECOMMISSION, request),
    drainMachine: (request) => fleet.start(OperationType.DRAIN, request),
    removeMachine: (request) => fleet.start(OperationType.REMOVE, request),
    eraseMachine: (request) => fleet.start(OperationType.ERASE, request),
    migrateMachine: (request) => fleet.start(OperationType.MIGRATE, request),
    inspectMachine: (request) => fleet.start(OperationType.INSPECT, request),
    changePower: (request) => fleet.start(OperationType.POWER, request),
    setPowerCap: (request) => fleet.start(OperationType.BMC, request),
    setBootOverride: (request) => fleet.start(OperationType.BMC, request),
    clearBmcLog: (request) => fleet.start(OperationType.BMC, request),
    resetBmc: (request) => fleet.start(OperationType.BMC, request),
    rotateBmcPassword: (request) => fleet.start(OperationType.BMC, request),
    getPower: ({ machineId }) => ({
      machineId,
      power: 'on',
      watts: 412,
      capWatts: 450,
      lowestCapWatts: 200,
      highestCapWatts: 1400,
      canCap: true,
    }),
    getBootOverride: ({ machineId }) => ({
      machineId,
      source: 'cd',
      target: 'UsbCd',
      once: true,
      mode: 'UEFI',
      offered: ['None', 'Pxe', 'UsbCd'],
    }),
    locateMachine: ({ machineId, off }) => ({ machineId, ...(off ? {} : { locating: { until: at(600) } }) }),
    getBmcCertificate: ({ machineId }) => fleet.bmcCertificate(machineId),
    trustBmcCertificate: ({ machineId, sha256 }) => ({
      ...fleet.bmcCertificate(machineId),
      pinnedSha256: sha256,
      trusted: true,
    }),
    getHardware: () => fleet.hardware,
    listHardwareChanges: () => ({ changes: fleet.hardwareChanges }),
    diffHardware: () => fleet.hardwareDiff,
    listSensors: () => fleet.sensors,
    getSensorHistory: () => ({ series: fleet.sensorSeries }),
    listHardwareLog: () => ({ entries: fleet.hardwareLog }),
    listLemons: () => ({ lemons: fleet.lemons }),
    setServiceState: ({ machineId }) => fleet.machine(machineId),
    createMachine: ({ machineId, pool, provider }) => ({
      machine: {
        machineId: machineId || '1165a9b6',
        spec: { provider: provider || 'generic' },
        status: { pool },
      },
      token: 'ingot_machine_secret',
      expiresAt: at(3600),
    }),
    createPool: ({ name }) => ({ name, createdAt: at(0) }),
    listPools: () => ({ pools: fleet.pools }),
    getPool: ({ name }) => {
      const pool = fleet.pools.find((each) => each.name === name);
      if (!pool) throw new WireFault(status.NOT_FOUND, 'there is no pool', { reason: 'POOL_NOT_FOUND' });
      return pool;
    },
    createPlan: ({ plan }) => {
      fleet.plans.set(plan.planId, plan);
      return plan;
    },
    createToken: ({ name, role, expiresAt }) => ({
      token: { name, role, expiresAt },
      secret: 'ingot_secret',
    }),
    listTokens: () => ({ tokens: [create(TokenSchema, { name: 'ci', role: 'operator', createdAt: at(0) })] }),
    revokeToken: ({ name }) => ({ name, role: 'operator', revokedAt: at(0) }),
  };
}

export interface FakeServer {
  readonly address: string;
  readonly port: number;
  stop(): void;
}

export async function startFakeServer(fleet: FakeFleet, port = 0): Promise<FakeServer> {
  const server = new Server();
  const handlers = handlersOf(fleet);
  for (const service of [MachineService, OperationService, AdminService, HardwareService, BmcService])
    addService(server, service, handlers, fleet);
  addService(server, RolloutService, rolloutHandlersOf(fleet), fleet);
  for (const service of [V1MachineService, PlanService, RunService])
    addService(server, service, v1HandlersOf(fleet), fleet);
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, taken) =>
      error === null ? resolve(taken) : reject(error),
    );
  });
  return { address: `127.0.0.1:${bound}`, port: bound, stop: () => server.forceShutdown() };
}

function addService(
  server: Server,
  service: DescService,
  handlers: Record<string, Handler>,
  fleet: FakeFleet,
): void {
  for (const method of service.methods) {
    // Two services have methods of the same name.
    const name = service.typeName.startsWith('baremetal.v1.') ? `v1.${method.localName}` : method.localName;
    const isStream = method.methodKind === 'server_streaming';
    const encode = (message: Message) => Buffer.from(toBinary(method.output, message));
    const answer = (request: unknown, metadata: Metadata): unknown => {
      const authorization = metadata.get('authorization')[0]?.toString();
      fleet.calls.push({ method: name, request, authorization });
      fleet.onCall(name, request);
      return handlers[method.localName]?.(request);
    };
    const decode = (bytes: Buffer) => fromBinary(method.input, bytes);
    const path = `/${service.typeName}/${method.name}`;
    if (isStream) {
      const handle: handleServerStreamingCall<unknown, Message> = (call) => void pump(call, answer);
      server.register(path, handle, encode, decode, 'serverStream');
      continue;
    }
    const handle: handleUnaryCall<unknown, Message> = (call, callback) => {
      try {
        callback(null, create(method.output, answer(call.request, call.metadata) as Record<string, unknown>));
      } catch (error) {
        callback(error as ServiceError);
      }
    };
    server.register(path, handle, encode, decode, 'unary');
  }
}

async function pump(
  call: ServerWritableStream<unknown, Message>,
  answer: (request: unknown, metadata: Metadata) => unknown,
): Promise<void> {
  try {
    for await (const message of answer(call.request, call.metadata) as AsyncIterable<Message>) {
      if (call.cancelled) return;
      call.write(message);
    }
    call.end();
  } catch (error) {
    call.emit('error', error);
  }
}
