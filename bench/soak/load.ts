/** The mixed load of the soak: operations, reads, keepalives, and watchers that come and go. */
import type { ClientReadableStream } from '@grpc/grpc-js';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { sleep } from '../../src/time/sleep.ts';
import { requestOf } from '../agents/fleet.ts';
import type { LoadClient } from '../client.ts';
import { httpPerSecond } from '../rig/http-load.ts';

/** A server that the load may use now; null while it is away. */
export interface Target {
  client: LoadClient | null;
  httpPort: number | null;
}

export interface Took {
  /** Milliseconds since the last reading, by what was done. */
  readonly operations: number[];
  readonly reads: number[];
}

interface Call {
  readonly machineId: string;
  readonly requestId: string;
}

const OPERATORS = 4;
const READERS = 2;
const WATCHERS = 20;
const WATCHER_CHANGE_MS = 500;
const KEEPALIVES_A_SECOND = 100;
const PAUSE_MS = 20;

export class SoakLoad {
  readonly #targets: readonly Target[];
  readonly #machines: number;
  readonly #over = new AbortController();
  readonly #loops: Promise<void>[] = [];
  #took: Took = { operations: [], reads: [] };
  #turn = 0;
  /** Calls that a server refused or did not answer, although it was not away. */
  failures = 0;
  operations = 0;
  watches = 0;

  constructor(targets: readonly Target[], machines: number) {
    this.#targets = targets;
    this.#machines = machines;
  }

  start(): void {
    for (let each = 0; each < OPERATORS; each += 1) this.#loops.push(this.#operate(each));
    for (let each = 0; each < READERS; each += 1) this.#loops.push(this.#read());
    this.#loops.push(this.#watch(), this.#keepAlive());
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#loops);
  }

  /** What was measured since the last time. */
  take(): Took {
    const took = this.#took;
    this.#took = { operations: [], reads: [] };
    return took;
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  #next(): Target {
    this.#turn += 1;
    const here = this.#targets.filter(({ client }) => client !== null);
    const target = here[this.#turn % Math.max(1, here.length)];
    if (target === undefined) throw new Error('no server is there');
    return target;
  }

  /** A call to whatever server is there. One that goes away meanwhile costs the call and nothing else. */
  async #call<T>(call: (client: LoadClient) => Promise<T>): Promise<T | null> {
    const target = this.#next();
    const { client } = target;
    if (client === null) return null;
    try {
      return await call(client);
    } catch {
      if (target.client === client && !this.#isOver) this.failures += 1;
      return null;
    }
  }

  async #operate(lane: number): Promise<void> {
    const { method } = MachineService;
    for (let count = 0; !this.#isOver; count += 1) {
      const machineId = `soak-${lane + OPERATORS * (count % Math.floor(this.#machines / OPERATORS))}`;
      for (const [verb, start] of [
        ['reboot', (to: LoadClient, call: Call) => to.unary(method.rebootMachine, call)],
        ['enter', (to: LoadClient, call: Call) => to.unary(method.enterMaintenance, call)],
        ['exit', (to: LoadClient, call: Call) => to.unary(method.exitMaintenance, call)],
      ] as const) {
        const startedAt = performance.now();
        const started = await this.#call((client) =>
          start(client, { machineId, requestId: `${verb}-${count}` }),
        );
        if (started === null) break;
        if (!(await this.#untilEnded(started.operationId))) return;
        this.operations += 1;
        this.#took.operations.push(performance.now() - startedAt);
      }
      await sleep(PAUSE_MS, this.#over.signal);
    }
  }

  async #untilEnded(operationId: string): Promise<boolean> {
    while (!this.#isOver) {
      const found = await this.#call((client) =>
        client.unary(OperationService.method.getOperation, { operationId }),
      );
      if (found?.finishedAt !== undefined) return true;
      await sleep(5, this.#over.signal);
    }
    return false;
  }

  async #read(): Promise<void> {
    while (!this.#isOver) {
      const startedAt = performance.now();
      await this.#call((client) => client.bytes(MachineService.method.listMachines, { pageSize: 100 }));
      await this.#call((client) => client.bytes(FleetService.method.getOverview, {}));
      await this.#call((client) => client.bytes(FleetService.method.listEvents, { pageSize: 100 }));
      this.#took.reads.push(performance.now() - startedAt);
      await sleep(PAUSE_MS, this.#over.signal);
    }
  }

  /** Each change, the oldest watcher leaves and a new one comes. */
  async #watch(): Promise<void> {
    const open: ClientReadableStream<unknown>[] = [];
    while (!this.#isOver) {
      const stream = this.#next().client?.stream(OperationService.method.watchOperations, {
        sendSynced: true,
      });
      if (stream !== undefined) {
        // A server that goes away takes its watchers along, and cancellation is an error too.
        stream.on('error', () => {});
        stream.on('data', () => {});
        open.push(stream);
        this.watches += 1;
      }
      if (open.length > WATCHERS) open.shift()?.cancel();
      await sleep(WATCHER_CHANGE_MS, this.#over.signal);
    }
    for (const stream of open) stream.cancel();
  }

  async #keepAlive(): Promise<void> {
    for (let from = 0; !this.#isOver; from = (from + KEEPALIVES_A_SECOND) % 1_000) {
      const target = this.#next();
      const port = target.httpPort;
      if (port !== null)
        await httpPerSecond({
          port,
          connections: 4,
          count: KEEPALIVES_A_SECOND,
          request: (index) => requestOf(from + index),
        }).catch(() => {
          if (target.httpPort === port && !this.#isOver) this.failures += 1;
        });
      await sleep(1_000, this.#over.signal);
    }
  }
}
