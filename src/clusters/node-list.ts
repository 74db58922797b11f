/**
 * A cluster's nodes as they were at most a moment ago, for probes that are made all the time: however many machines
 * ask, the list is read once in that time. A read that failed is kept as long, so that a fleet does not
 * overload a server that fails.
 */

import { unlessAborted } from '../connections/unless-aborted.ts';
import type { NodePage, NodeView } from './cluster-api.ts';
import { ClusterFailure } from './cluster-failure.ts';

export interface NodeListOptions {
  readonly readPage: (from: string, signal: AbortSignal) => Promise<NodePage>;
  readonly maxAgeMs: number;
  readonly maxReadMs: number;
  readonly monotonicNow: () => number;
}

type Nodes = ReadonlyMap<string, NodeView>;

export class NodeList {
  readonly #options: NodeListOptions;
  #last: { readonly nodes: Promise<Nodes>; readonly until: number } | null = null;

  constructor(options: NodeListOptions) {
    this.#options = options;
  }

  async find(name: string, signal: AbortSignal): Promise<NodeView | null> {
    const nodes = await unlessAborted(this.#current(), signal);
    return nodes.get(name) ?? null;
  }

  #current(): Promise<Nodes> {
    const { monotonicNow, maxAgeMs } = this.#options;
    if (this.#last && monotonicNow() < this.#last.until) return this.#last.nodes;
    const nodes = this.#read();
    // Infinite until it is there: a probe in the meantime waits for this one.
    const reading = { nodes, until: Number.POSITIVE_INFINITY };
    this.#last = reading;
    const settle = () => {
      if (this.#last === reading) this.#last = { nodes, until: monotonicNow() + maxAgeMs };
    };
    nodes.then(settle, settle);
    return nodes;
  }

  /** Shared by all callers that wait, so that none of them aborts it. */
  async #read(): Promise<Nodes> {
    const signal = AbortSignal.timeout(this.#options.maxReadMs);
    try {
      return await this.#readPages(signal);
    } catch (error) {
      if (!isExpiredPage(error)) throw error;
      return this.#readPages(signal);
    }
  }

  async #readPages(signal: AbortSignal): Promise<Nodes> {
    const nodes = new Map<string, NodeView>();
    let from = '';
    do {
      const page = await this.#options.readPage(from, signal);
      for (const node of page.nodes) nodes.set(node.name, node);
      from = page.next;
    } while (from !== '');
    return nodes;
  }
}

/** The server has dropped the position in the list: start again. */
function isExpiredPage(error: unknown): boolean {
  return error instanceof ClusterFailure && error.status === 410;
}
