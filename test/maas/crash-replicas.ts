/** Replicas that crash where a plan says so, each replaced by another: processes, or servers in this process. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { type Api, connect } from '../../src/cli/connection/api.ts';
import { readConfiguration } from '../../src/server/settings/configuration.ts';
import { readSettings } from '../../src/server/settings/settings.ts';
import { startServer } from '../../src/server/start-server.ts';
import { socketDirOf } from '../../src/store/embedded/socket-dir.ts';
import { ReplicaProcess } from '../chaos/replica-process.ts';
import { BlackholeProxy, throughPort } from '../parts/blackhole-proxy.ts';
import { type CrashPlan, crashesHere } from './crash-plan.ts';

const REPLICAS = 3;
const LEASE_MS = 1_000;

export interface CrashReplica {
  /** Whether it answers calls. */
  isReady(): boolean;
  readonly httpPort: number;
  readonly api: Api;
  /** Null: it crashed as planned, or was ended by `end`. */
  readonly exited: Promise<string | null>;
  end(): void;
}

export interface ReplicaPlace {
  readonly databaseUrl: string;
  readonly dataDir: string;
  /** Has the plan, and a file for each crash. */
  readonly crashes: string;
  readonly configFile: string;
  readonly logFile: string;
}

export type StartReplica = (place: ReplicaPlace) => Promise<CrashReplica>;

/** A process that kills itself with SIGKILL. */
export const startReplicaProcess: StartReplica = async (place) => {
  const replica = new ReplicaProcess({
    ...place,
    journalFile: place.crashes,
    leaseMs: LEASE_MS,
    program: 'test/maas/crashing-replica.js',
  });
  replica.ready.catch(() => {});
  return {
    isReady: () => replica.state === 'ready',
    get httpPort() {
      return replica.httpPort;
    },
    get api() {
      return replica.api;
    },
    exited: replica.exited.then(({ code, signal }) =>
      signal === 'SIGKILL'
        ? null
        : `exit ${code} ${signal}: ${readFileSync(place.logFile, 'utf8').slice(-2_000)}`,
    ),
    end: () => replica.kill(),
  };
};

class Crashed extends Error {}

/**
 * A server in this process that loses its database at the crash, in the same instant: the step that it works on ends with an
 * error, and nothing of that or of anything later is stored, as after the end of a process. It is stopped in the background.
 */
export const startReplicaInProcess: StartReplica = async (place) => {
  const proxy = await BlackholeProxy.start(join(socketDirOf(place.databaseUrl), '.s.PGSQL.5432'));
  const databaseUrl = throughPort(place.databaseUrl, proxy.port);
  const plan = JSON.parse(readFileSync(join(place.crashes, 'plan.json'), 'utf8')) as CrashPlan;
  let isReady = true;
  let onCrash = () => {};
  const crashed = new Promise<void>((resolve) => {
    onCrash = resolve;
  });
  const end = () => {
    isReady = false;
    void proxy.stop();
    onCrash();
  };
  const configuration = readConfiguration(place.configFile);
  const server = await startServer({
    settings: readSettings(
      {},
      {
        dataDir: place.dataDir,
        databaseUrl,
        leaseMs: String(LEASE_MS),
        httpAddress: '127.0.0.1:0',
        grpcAddress: '127.0.0.1:0',
      },
      place.dataDir,
    ),
    configuration: { ...configuration, looks: { ...configuration.looks, enabled: false } },
    log: pino({ level: 'silent' }),
    onFatal: () => {},
    repeatActMs: 500,
    crashPoint: (point, job) => {
      if (!isReady) throw new Crashed();
      if (!crashesHere(plan, place.crashes, point, job)) return;
      end();
      throw new Crashed();
    },
  });
  const token = readFileSync(server.adminTokenFile, 'utf8').trim();
  const api = connect({ host: '127.0.0.1', port: server.grpcPort, tls: false }, { token, origin: '' });
  const exited = crashed.then(() => {
    api.close();
    stopping.push(server.stop());
    return null;
  });
  return { isReady: () => isReady, httpPort: server.httpPort, api, exited, end };
};

/** Servers of this process that have crashed and still close their ports. */
const stopping: Promise<void>[] = [];

export class CrashReplicas {
  /** How many crashed. */
  crashes = 0;
  /** Ends that no plan asked for. */
  readonly unplannedEnds: string[] = [];
  readonly door: Server;
  readonly #running = new Set<CrashReplica>();
  readonly #start: StartReplica;
  #restarting: Promise<void>[] = [];
  #isClosing = false;

  private constructor(start: StartReplica, door: Server) {
    this.#start = start;
    this.door = door;
  }

  /** `door`: the one address that agents know, as behind a load balancer; the replica that answers there can crash at any time. */
  static async open(start: StartReplica): Promise<CrashReplicas> {
    const door = createServer((caller) => {
      const replica = replicas.any();
      if (!replica) {
        caller.destroy();
        return;
      }
      const callee = connectTcp(replica.httpPort, '127.0.0.1');
      const close = () => {
        caller.destroy();
        callee.destroy();
      };
      for (const socket of [caller, callee]) socket.on('error', close).on('close', close);
      caller.pipe(callee).pipe(caller);
    });
    const replicas = new CrashReplicas(start, door);
    await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
    return replicas;
  }

  get url(): string {
    const address = this.door.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  keepRunning(folder: string, databaseUrl: string, configuration: unknown, plan: CrashPlan): void {
    const crashes = join(folder, 'crashes');
    const configFile = join(folder, 'ingot.yaml');
    mkdirSync(crashes);
    writeFileSync(join(crashes, 'plan.json'), JSON.stringify(plan));
    writeFileSync(configFile, JSON.stringify(configuration));
    const place = { databaseUrl, dataDir: join(folder, 'data'), crashes, configFile };
    this.#restarting = Array.from({ length: REPLICAS }, (_, slot) =>
      this.#keepOne({ ...place, logFile: join(folder, `replica-${slot}.log`) }),
    );
  }

  async #keepOne(place: ReplicaPlace): Promise<void> {
    while (!this.#isClosing) {
      const replica = await this.#start(place);
      this.#running.add(replica);
      if (this.#isClosing) replica.end();
      const unplanned = await replica.exited;
      this.#running.delete(replica);
      if (unplanned === null) this.crashes += 1;
      else if (!this.#isClosing) {
        this.unplannedEnds.push(unplanned);
        await sleep(500);
      }
    }
  }

  any(): CrashReplica | undefined {
    const ready = [...this.#running].filter((replica) => replica.isReady());
    return ready[Math.floor(Math.random() * ready.length)];
  }

  /** Asks until a replica answers; the call must be safe to repeat. */
  async ask<T>(call: (api: Api) => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      try {
        const replica = this.any();
        if (replica) return await call(replica.api);
      } catch (error) {
        if (failures > 300) throw error;
      }
      await sleep(100);
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    for (const replica of this.#running) replica.end();
    await Promise.all(this.#restarting);
    await Promise.all(stopping.splice(0));
    this.door.close();
  }
}
