/** A fleet of one size with a server of its own. All fleets are databases of one PostgreSQL, so that they share its memory. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { sleep } from '../../src/time/sleep.ts';
import { LoadClient } from '../client.ts';
import { thisBuild } from '../rig/build-commit.ts';
import type { Cleanup } from '../rig/cleanup.ts';
import { ServerProcess } from '../rig/server-process.ts';
import type { BenchPostgres } from '../rig/subject.ts';
import { APPROVALS } from './admin-calls.ts';
import type { Turn } from './call.ts';
import { type FleetSize, fillFleet, machineIdOf, machineOfTurn, prepareFill, turnsIn } from './fill.ts';

const LONGEST_WAIT_MS = 1_800_000;

export interface PlaceOptions {
  readonly postgres: BenchPostgres;
  readonly dir: string;
  readonly size: FleetSize;
  readonly cleanup: Cleanup;
  readonly progress: (line: string) => void;
}

export class Place {
  readonly size: FleetSize;
  readonly #client: LoadClient;
  readonly #sql: pg.Pool;
  readonly #address: string;
  #turns = 0;

  private constructor(size: FleetSize, client: LoadClient, sql: pg.Pool, address: string) {
    this.size = size;
    this.#client = client;
    this.#sql = sql;
    this.#address = address;
  }

  static async start({ postgres, dir, size, cleanup, progress }: PlaceOptions): Promise<Place> {
    const name = `growth_${size.machines}`;
    await postgres.sql.query(`CREATE DATABASE ${name}`);
    const url = new URL(postgres.url);
    url.pathname = name;
    const sql = new pg.Pool({ connectionString: url.href, max: 2 });
    sql.on('error', () => {});
    cleanup.add(() => sql.end());
    const dataDir = join(dir, name);
    mkdirSync(dataDir);
    const configuration = { approvals: APPROVALS };
    const options = { build: thisBuild(), databaseUrl: url.href, dataDir, configuration, cleanup };
    const server = await ServerProcess.start(options);
    const first = new LoadClient(server.grpcAddress, server.token);
    await prepareFill(first);
    first.close();
    await server.stop();
    progress(`filling ${size.machines} machines, ${size.operations} operations, ${size.events} events`);
    await fillFleet(sql, size);
    await server.start();
    const client = new LoadClient(server.grpcAddress, server.token);
    cleanup.add(() => client.close());
    progress('waiting until they are counted and sealed');
    await untilSettled(client, sql);
    return new Place(size, client, sql, server.grpcAddress);
  }

  /** Bytes on the disk for each row, with its indexes. */
  async bytesPerRow(): Promise<Record<string, number>> {
    const { rows } = await this.#sql.query<{ table: string; bytes: number }>(
      `SELECT relname AS table, (pg_total_relation_size(oid) / greatest(reltuples, 1))::int AS bytes FROM pg_class
       WHERE relkind = 'r' AND relname IN ('machines', 'agents', 'agent_presence', 'operations', 'events') ORDER BY 1`,
    );
    return Object.fromEntries(rows.map(({ table, bytes }) => [table, bytes]));
  }

  nextTurn(): Turn {
    const turn = this.#turns;
    this.#turns += 1;
    if (turn >= turnsIn(this.size.machines))
      throw new Error(`a fleet of ${this.size.machines} machines has too few for so many rounds`);
    return {
      client: this.#client,
      sql: this.#sql,
      machineId: machineIdOf(machineOfTurn(turn)),
      unique: `t${turn}`,
      as: (token) => new LoadClient(this.#address, token),
    };
  }
}

/** The server counts and seals what it finds, which takes the processors from what is measured. */
async function untilSettled(client: LoadClient, sql: pg.Pool): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const { machines } = await client.unary(FleetService.method.getOverview, {});
    const { rows } = await sql.query<{ machines: number; unsealed: number; complete: boolean }>(
      `SELECT (SELECT count(*)::int FROM machines) AS machines,
         (SELECT complete FROM machine_count_state) AND NOT EXISTS (SELECT FROM machine_value_deltas) AS complete,
         (SELECT max(event_id) FROM events)::int - (SELECT coalesce(max(last_event_id), 0) FROM audit_blocks)::int AS unsealed`,
    );
    if (rows[0]?.complete && rows[0].machines === machines && rows[0].unsealed < 1_000) return;
    if (performance.now() - startedAt > LONGEST_WAIT_MS)
      throw new Error('the fleet is not counted and sealed');
    await sleep(500);
  }
}
