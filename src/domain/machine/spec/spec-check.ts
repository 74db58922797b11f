/** Checks of single values of a machine's spec. Each returns the value as it is stored, or throws a fault that names the field. */
import { hostProblem } from '../../address/never-connected.ts';
import { type Fault, invalidField } from '../../error/fault.ts';
import { macProblem } from '../../install/node.ts';
import { CONTROL, checkText } from '../machine-input.ts';

/** What a check must know besides the value. */
export interface SpecContext {
  /** The names of the configured providers. */
  readonly providers: ReadonlySet<string>;
  /** Addresses that the machine has already. They may be older than the rule, so they are not checked again. */
  readonly storedMacs: readonly string[];
}

export const CLUSTER_RULE = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/;
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9-]{1,63})*\.?|\[[0-9A-Fa-f:.]{2,45}\])$/;
export const MAX_MACS = 64;
const MAX_ENDPOINT = 512;

/** Plain text of at most so many characters, without control characters and outer spaces. */
export function textUpTo(maxLength: number) {
  return (text: string, field: string): string => {
    checkText(text, field, maxLength);
    if (text !== text.trim()) throw invalidField(field, 'must not begin or end with a space');
    return text;
  };
}

export function checkProvider(
  provider: string,
  field: string,
  { providers }: Pick<SpecContext, 'providers'>,
): string {
  if (!providers.has(provider)) throw unknownProvider(provider, providers, field);
  return provider;
}

export function unknownProvider(provider: string, providers: ReadonlySet<string>, field: string): Fault {
  const shown = CONTROL.test(provider) ? JSON.stringify(provider) : provider.slice(0, 80);
  const instead =
    field === 'spec.provider' ? '' : '; name one of them in spec.provider if the label is not meant so';
  return invalidField(
    field,
    `${shown} is not a configured provider; there are ${[...providers].join(', ')}${instead}`,
  );
}

const SOURCE_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** A name in the section credentials of the configuration, never a path or a secret. What it leads to is checked where it is used. */
export function checkCredentialsRef(name: string, field: string): string {
  if (name === '' || SOURCE_NAME.test(name)) return name;
  throw invalidField(field, 'must be the name of a source of credentials in the configuration');
}

export function checkCluster(cluster: string, field: string): string {
  if (cluster === '' || CLUSTER_RULE.test(cluster)) return cluster;
  throw invalidField(field, "must be a cluster's name");
}

/** In lower case without colons. */
export function checkFingerprint(given: string, field: string): string {
  const digits = given.replaceAll(':', '').toLowerCase();
  if (digits !== '' && !/^[0-9a-f]{64}$/.test(digits))
    throw invalidField(field, 'must be a SHA-256 in 64 hexadecimal digits');
  return digits;
}

/** Lower case with colons, whether or not it is a MAC address. */
export const macSpelling = (mac: string): string => mac.toLowerCase().replaceAll('-', ':');

/** In lower case with colons, none of them twice. */
export function checkMacs(
  given: readonly string[],
  field: string,
  { storedMacs }: Pick<SpecContext, 'storedMacs'> = { storedMacs: [] },
): string[] {
  if (given.length > MAX_MACS) throw invalidField(field, `must be at most ${MAX_MACS}`);
  const macs = given.map((mac, index) => {
    const problem = storedMacs.includes(macSpelling(mac)) ? null : macProblem(mac);
    if (problem !== null) throw invalidField(`${field}[${index}]`, problem);
    return macSpelling(mac);
  });
  const twice = macs.find((mac, index) => macs.indexOf(mac) !== index);
  if (twice !== undefined) throw invalidField(field, `${twice} is there twice`);
  return macs;
}

/** host, host:port or [IPv6]:port. */
export function checkEndpoint(endpoint: string, field: string): string {
  checkLength(endpoint, field);
  if (endpoint === '') return endpoint;
  const match = /^(.*?)(?::(\d{1,5}))?$/s.exec(endpoint);
  const [, host = '', port] = match ?? [];
  if (!isHost(host)) throw invalidField(field, 'must be host, host:port or [IPv6]:port');
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) {
    throw invalidField(field, 'has a port that is not between 1 and 65535');
  }
  checkHost(host, field);
  return endpoint;
}

/** As checkEndpoint, or an http(s) URL, but never with a user or a password: everyone who may read machines sees the spec. */
export function checkBmcEndpoint(endpoint: string, field: string): string {
  if (!/^[a-z]+:\/\//i.test(endpoint)) return checkEndpoint(endpoint, field);
  checkLength(endpoint, field);
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  // The host as it is written: the URL parser accepts more spellings than the check for two machines with the same BMC.
  const [, host = ''] = /^https?:\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)/i.exec(endpoint) ?? [];
  if (url === null || !isHost(host) || CONTROL.test(endpoint)) {
    throw invalidField(field, 'must be host, host:port, [IPv6]:port or an http(s) URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidField(field, 'must not carry credentials');
  }
  checkHost(host, field);
  return endpoint;
}

/** An address that could never be connected to is refused at once; what a name leads to is checked for each connection. */
function checkHost(host: string, field: string): void {
  const problem = hostProblem(host);
  if (problem !== null) throw invalidField(field, problem);
}

function checkLength(endpoint: string, field: string): void {
  if (endpoint.length > MAX_ENDPOINT) throw invalidField(field, `must be at most ${MAX_ENDPOINT} characters`);
}

/** Brackets must hold an IPv6 address. URL parses it, which Node and browsers both have. */
function isHost(text: string): boolean {
  return HOST.test(text) && (!text.startsWith('[') || URL.canParse(`http://${text}/`));
}
