/*
 * The one place that decides which addresses the server connects to. Everything that opens a connection to an address that it is
 * given takes a rule from here (`test/one-way-out.test.ts` finds other ways).
 *
 * The address that is checked is the one that is connected to: a literal before the connection, a name by the answer of
 * the resolver, inside the connection's own lookup. So a name whose answer changes, or a redirect, leads nowhere else.
 */
import { type LookupAddress, type LookupOptions, lookup as resolve } from 'node:dns';
import { type Agent, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions as HttpsAgentOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { z } from 'zod';
import { parseAddress } from '../domain/address/network.ts';
import { isLoopback, neverConnected } from '../domain/address/never-connected.ts';
import { StepFailure } from '../engine/step-handler.ts';
import { AddressNetworks, networkText } from './address-networks.ts';

/** The section `allowed_networks` of the configuration. */
export const allowedNetworks = z.array(networkText).min(1);

export const ADDRESS_NOT_ALLOWED = 'ADDRESS_NOT_ALLOWED';

/** Nothing was connected to. */
export class AddressNotAllowed extends StepFailure {
  /** For those that wrap errors and keep nothing but this. */
  readonly code = ADDRESS_NOT_ALLOWED;

  constructor(problem: string) {
    super({ class: 'permanent', code: ADDRESS_NOT_ALLOWED, message: problem });
    this.name = 'AddressNotAllowed';
  }
}

export interface AddressRule {
  /** Throws AddressNotAllowed for an address that is not allowed. A name passes: its answers are checked. */
  check(host: string): void;
  /** For connections: gives allowed addresses only. */
  readonly lookup: LookupFunction;
  /** What becomes of a name that another host is to connect to, and that is not known here. */
  readonly unknownNames: 'passed on' | 'refused';
}

export interface AddressRules {
  /** For what the API sets: endpoints of machines. */
  readonly machines: AddressRule;
  /** For the site's hooks. */
  readonly hooks: AddressRule;
  /** For servers that the configuration names: MAAS, clusters, jump hosts, Vault. */
  readonly servers: AddressRule;
}

export interface AddressRuleOptions {
  /** Null: not configured. */
  readonly allowedNetworks: readonly string[] | null;
  /** Where other hosts can reach this server, its API must not reach what listens on loopback, unless that is allowed. */
  readonly loopback: 'allowed' | 'only if named';
  /** For tests: another resolver. */
  readonly resolve?: typeof resolve;
}

export function createAddressRules(options: AddressRuleOptions): AddressRules {
  const { allowedNetworks: texts, loopback } = options;
  const named = texts && new AddressNetworks(texts);
  const rule = (networks: typeof named, local: typeof loopback) =>
    ruleOf(options.resolve ?? resolve, networks === null ? 'passed on' : 'refused', (host) => {
      const address = parseAddress(host);
      if (address === null) return null;
      const never = neverConnected(address);
      if (never !== null) return `is ${never}, which is never connected to`;
      if (networks?.has(host)) return null;
      if (networks !== null) return 'is not in allowed_networks';
      if (local === 'only if named' && isLoopback(address))
        return 'is a loopback address, which is connected to only if allowed_networks names it';
      return null;
    });
  return {
    machines: rule(named, loopback),
    hooks: rule(named, 'allowed'),
    servers: rule(null, 'allowed'),
  };
}

function ruleOf(
  resolver: typeof resolve,
  unknownNames: AddressRule['unknownNames'],
  problem: (address: string) => string | null,
): AddressRule {
  const refusal = (host: string, address: string) => {
    const what = problem(address);
    const shown = host === address ? host : `${host} (${address})`;
    return what === null ? null : new AddressNotAllowed(`${shown} ${what}`);
  };
  const lookup = (
    host: string,
    options: LookupOptions,
    answer: (error: Error | null, found: string | LookupAddress[], family?: number) => void,
  ) => {
    resolver(host, { ...options, all: true }, (error, found) => {
      if (error) return answer(error, []);
      const allowed = found.filter(({ address }) => problem(address) === null);
      const [first] = allowed;
      if (!first) return answer(refusal(host, found[0]?.address ?? host) ?? new Error('no address'), []);
      if (options.all) answer(null, allowed);
      else answer(null, first.address, first.family);
    });
  };
  return {
    check(host) {
      const refused = refusal(host, host);
      if (refused) throw refused;
    },
    lookup: lookup as LookupFunction,
    unknownNames,
  };
}

/** Why an address is not allowed, for the answer to who gives it; null: it is allowed, or a name. */
export function addressProblem(rule: AddressRule, host: string): string | null {
  try {
    rule.check(host);
    return null;
  } catch (error) {
    if (error instanceof AddressNotAllowed) return error.failure.message;
    throw error;
  }
}

/** The address to connect to, for programs that would resolve a name themselves: what was checked is what they get. */
export async function allowedAddress(host: string, rule: AddressRule): Promise<string> {
  rule.check(host);
  if (parseAddress(host) !== null) return host;
  const found = await promisify<string, LookupOptions, string>(
    rule.lookup as unknown as (
      host: string,
      options: LookupOptions,
      answer: (error: Error | null, address: string) => void,
    ) => void,
  )(host, {});
  return found;
}

/**
 * The address that another host is to connect to for us: a jump host, MAAS. It gets the one that was checked, not the name. A name that is
 * known only there can't be checked: with allowed_networks it is refused, and otherwise passed on.
 */
export async function addressForOther(host: string, rule: AddressRule): Promise<string> {
  try {
    return await allowedAddress(host, rule);
  } catch (error) {
    if (error instanceof AddressNotAllowed) throw error;
    if (rule.unknownNames === 'passed on') return host;
    throw new AddressNotAllowed(
      `${host} is not known here, so it can't be found in allowed_networks: use an address`,
    );
  }
}

/** An agent for requests over HTTP or HTTPS whose every connection obeys the rule, after a redirect too. */
export function allowedAgent(url: URL, rule: AddressRule, options: HttpsAgentOptions): Agent {
  return url.protocol === 'https:'
    ? obeying(new HttpsAgent(options), rule)
    : obeying(new HttpAgent(options), rule);
}

interface Connecting {
  createConnection(options: { host?: string }, connected?: unknown): unknown;
}

export function obeying<A extends Agent>(agent: A, rule: AddressRule): A {
  const connecting = agent as unknown as Connecting;
  const connect = connecting.createConnection.bind(agent);
  connecting.createConnection = (options, connected) => {
    rule.check(options.host ?? 'localhost');
    return connect({ ...options, lookup: rule.lookup } as { host?: string }, connected);
  };
  return agent;
}
