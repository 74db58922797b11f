/**
 * Reads of what may hold secrets, as events: an image, the seed of an installation. A download comes in many pieces, so each
 * reader of a thing is recorded once, from each address.
 */
import type { FastifyRequest } from 'fastify';
import type { Actor } from '../../domain/actor.ts';
import type { Database } from '../../store/database/database.ts';
import { recordChange } from '../../store/events/record-change.ts';
import type { BootToken } from '../../store/nodes/boot-tokens.ts';
import { clientAddress } from './client-address.ts';

export interface SecretRead {
  readonly kind: 'image' | 'workflow';
  readonly subject: string;
  readonly to: 'fetched' | 'seed_read';
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const MAX_KNOWN = 10_000;

export class SecretReads {
  readonly #database: Database;
  #known = new Set<string>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Before the first byte is sent: what can't be recorded is not served. */
  async byBoot(request: FastifyRequest, boot: BootToken, read: SecretRead): Promise<void> {
    const { machineId, bootNo } = boot;
    const origin = { address: clientAddress(request), requestId: request.id, via: 'boot' };
    const actor: Actor = { kind: 'node_report', id: machineId, origin };
    await this.#record([machineId, bootNo], actor, {
      ...read,
      metadata: { ...read.metadata, boot_no: bootNo },
      machineId,
    });
  }

  async byOperator(actor: Actor, read: SecretRead): Promise<void> {
    await this.#record([actor.kind, actor.id], actor, read);
  }

  async #record(
    reader: readonly unknown[],
    actor: Actor,
    read: SecretRead & { readonly machineId?: string },
  ): Promise<void> {
    const key = JSON.stringify([...reader, actor.origin?.address, read]);
    if (this.#known.has(key)) return;
    await recordChange(this.#database, { ...read, actor });
    if (this.#known.size >= MAX_KNOWN) this.#known = new Set();
    this.#known.add(key);
  }
}
