/**
 * Many machines in few requests. MAAS lists machines whole and has no pages (api/nodes.py, NodesHandler.read), so they
 * are asked for by id or address, as many at a time as an answer may hold and a URL may be long.
 *
 * Each machine is checked by itself: one that we can't read is named and costs no other. A part that turns out to be too
 * much, for us or for MAAS, is halved, and the parts after it grow again by one machine each.
 */
import type { z } from 'zod';
import { machineAnswer, rawMachinesAnswer, viewOfMachine } from './maas-answers.ts';
import { LateAnswer, type MaasApi, type Parameters } from './maas-api.ts';
import type { MaasListing, MaasMachine, MaasReadCall } from './maas-control.ts';
import { MaasFailure } from './maas-failure.ts';

export interface MaasListingOptions {
  readonly api: Pick<MaasApi, 'read'>;
  readonly now: () => number;
  readonly shaped: <T>(schema: z.ZodType<T>, answer: unknown, doing: string) => T;
}

/** A machine with many disks and interfaces takes some 100 KB: so many are some 10 MB. */
const MAX_AT_ONCE = 100;
/** Of the query. nginx takes 8 KB for a line unless it is configured otherwise, and Twisted 16 KB. */
const MAX_QUERY_LENGTH = 6_000;
const DOING = 'listing machines';

interface Part {
  readonly machines: readonly MaasMachine[];
  /** Ids of listed machines whose shape we don't know. */
  readonly odd: readonly string[];
  /** An entry without an id was listed. */
  readonly isBlurred: boolean;
}

export class MaasLister {
  readonly #options: MaasListingOptions;
  #atOnce = MAX_AT_ONCE;

  constructor(options: MaasListingOptions) {
    this.#options = options;
  }

  async byId(call: MaasReadCall, systemIds: readonly string[]): Promise<MaasListing> {
    const machines: MaasMachine[] = [];
    const unread: string[] = [];
    await this.#inParts(call, 'id', systemIds, (asked, part) => {
      const wanted = new Set(asked);
      const found = part?.machines.filter(({ systemId }) => wanted.has(systemId)) ?? [];
      const seen = new Set(found.map(({ systemId }) => systemId));
      machines.push(...found);
      // Where an entry without an id was listed, a machine that is missing may be that entry.
      const isDoubtful = (id: string) => part === null || part.isBlurred || part.odd.includes(id);
      unread.push(...asked.filter((id) => !seen.has(id) && isDoubtful(id)));
    });
    return { machines, unread };
  }

  async byMac(call: MaasReadCall, macAddresses: readonly string[]): Promise<MaasListing> {
    const machines = new Map<string, MaasMachine>();
    const unread: string[] = [];
    await this.#inParts(call, 'mac_address', macAddresses, (asked, part) => {
      for (const machine of part?.machines ?? []) machines.set(machine.systemId, machine);
      if (part === null || part.isBlurred || part.odd.length > 0) unread.push(...asked);
    });
    return { machines: [...machines.values()], unread };
  }

  /** Null as a part: a single machine whose answer is too large. */
  async #inParts(
    call: MaasReadCall,
    name: string,
    values: readonly string[],
    take: (asked: readonly string[], part: Part | null) => void,
  ): Promise<void> {
    const most = Math.floor(MAX_QUERY_LENGTH / (name.length + 2 + Math.max(1, ...values.map(encodedLength))));
    for (let from = 0; from < values.length; ) {
      const asked = values.slice(from, from + Math.max(1, Math.min(this.#atOnce, most)));
      const part = await this.#read(
        call,
        asked.map((value) => [name, value]),
      );
      if (part === 'too much' && asked.length > 1) continue;
      take(asked, part === 'too much' ? null : part);
      from += asked.length;
    }
  }

  async #read(call: MaasReadCall, query: Parameters): Promise<Part | 'too much'> {
    const { api } = this.#options;
    try {
      const answer = await api.read(call, { doing: DOING, path: 'machines/', query });
      this.#atOnce = Math.min(MAX_AT_ONCE, this.#atOnce + 1);
      return this.#partOf(answer);
    } catch (error) {
      const isTooLarge = error instanceof MaasFailure && error.failure.code === 'MAAS_ANSWER_TOO_LARGE';
      if (isTooLarge || error instanceof LateAnswer) this.#atOnce = Math.max(1, query.length >> 1);
      if (isTooLarge) return 'too much';
      throw error;
    }
  }

  #partOf(answer: unknown): Part {
    const { shaped, now } = this.#options;
    const machines: MaasMachine[] = [];
    const odd: string[] = [];
    let isBlurred = false;
    for (const given of shaped(rawMachinesAnswer, answer, DOING)) {
      const parsed = machineAnswer.safeParse(given);
      if (parsed.success) machines.push(viewOfMachine(parsed.data, now()));
      else {
        const id = idOf(given);
        if (id === null) isBlurred = true;
        else odd.push(id);
      }
    }
    return { machines, odd, isBlurred };
  }
}

function idOf(given: unknown): string | null {
  if (typeof given !== 'object' || given === null || !('system_id' in given)) return null;
  return typeof given.system_id === 'string' ? given.system_id : null;
}

function encodedLength(value: string): number {
  return encodeURIComponent(value).length;
}
