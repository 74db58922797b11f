/** What a client may say about a machine, checked where it comes in. Nothing of a refused request is stored. */
import { type Fault, invalidField, missingField } from '../error/fault.ts';
import { macProblem } from '../install/node.ts';
import { operationIdOf } from '../v1/run-id.ts';
import type { Labels, MachineSpec } from './machine.ts';
import { SPEC_FIELDS, TEXT_FIELD_NAMES, type TextFieldName, textOfField } from './spec-field.ts';

const ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const LABEL_KEY = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,251}[A-Za-z0-9])?$/;
export const IMAGE_RULE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}$/;
export const CLUSTER_RULE = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/;
/** Control characters, line separators, lone surrogates. */
const CONTROL = /[\p{Cc}\p{Cs}\u2028\u2029]/u;
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\.[A-Za-z0-9-]{1,63})*\.?|\[[0-9A-Fa-f:.]{2,45}\])$/;

const MAX_LABEL_BYTES = 64 * 1024;
const MAX_LABEL_VALUE = 4096;
export const MAX_MACS = 64;
const MAX_ENDPOINT = 512;

export function checkMachineId(id: string, field = 'machine_id'): string {
  if (id === '') throw missingField(field);
  if (ID.test(id)) return id;
  throw invalidField(
    field,
    'must be 1 to 128 letters, digits, ".", "_" or "-", and begin and end with a letter or digit',
  );
}

/** In either API's spelling; what is returned is the stored one. */
export function checkOperationId(id: string, field = 'operation_id'): string {
  if (id === '') throw missingField(field);
  if (ID.test(id)) return operationIdOf(id);
  throw invalidField(field, field === 'run_id' ? 'is not a run id' : 'is not an operation id');
}

export function checkRequestId(id: string): string {
  if (id === '') throw missingField('request_id');
  if (REQUEST_ID.test(id)) return id;
  throw invalidField('request_id', 'must be 1 to 128 printable ASCII characters without spaces');
}

export function checkImageRef(image: string): string {
  if (image === '' || IMAGE_RULE.test(image)) return image;
  throw invalidField('image_ref', 'must be at most 255 letters, digits, ".", "_", ":", "/", "@" or "-"');
}

/** Text for people: any characters but control characters, up to a length. */
export function checkText(text: string, field: string, maxLength: number): string {
  if (text.length > maxLength) throw invalidField(field, `must be at most ${maxLength} characters`);
  if (CONTROL.test(text)) throw invalidField(field, 'must not contain control characters');
  return text;
}

export function checkLabelName(name: string, field: string): string {
  if (LABEL_KEY.test(name)) return name;
  throw invalidField(field, 'a label’s name must be 1 to 253 letters, digits, ".", "_", "/" or "-"');
}

/** Not Buffer, which browsers don't have: the console checks with the same functions. */
const bytesOf = (text: string) => new TextEncoder().encode(text).length;

export function checkLabels(labels: Labels): Labels {
  let bytes = 0;
  for (const [key, value] of Object.entries(labels)) {
    const field = `labels.${CONTROL.test(key) ? JSON.stringify(key) : key.slice(0, 80)}`;
    checkLabelName(key, field);
    checkText(value, field, MAX_LABEL_VALUE);
    bytes += bytesOf(key) + bytesOf(value);
  }
  if (bytes > MAX_LABEL_BYTES) {
    throw invalidField('labels', `are ${bytes} bytes in total; at most ${MAX_LABEL_BYTES} are kept`);
  }
  return labels;
}

/** Addresses that the machine has already are not judged again: they were stored before the rule, and hold up no other change. */
export function checkSpec(
  spec: MachineSpec,
  providers: ReadonlySet<string>,
  stored: readonly string[] = [],
): MachineSpec {
  if (!providers.has(spec.provider)) throw unknownProvider(spec.provider, providers);
  checkLength(spec.ssh_endpoint, 'spec.ssh_endpoint');
  checkEndpoint(spec.ssh_endpoint, 'spec.ssh_endpoint');
  checkBmcEndpoint(spec.bmc_endpoint, 'spec.bmc_endpoint');
  if (spec.target_cluster_ref !== '' && !CLUSTER_RULE.test(spec.target_cluster_ref)) {
    throw invalidField('spec.target_cluster_ref', 'must be a cluster’s name');
  }
  const macs = checkMacs(spec.mac_addresses, 'spec.mac_addresses', stored);
  for (const name of TEXT_FIELD_NAMES) checkPlainField(spec, name);
  return { ...spec, mac_addresses: macs };
}

function checkPlainField(spec: MachineSpec, name: TextFieldName): void {
  const field = SPEC_FIELDS[name];
  if (!('maxLength' in field)) return;
  const text = checkText(textOfField(spec, name), `spec.${name}`, field.maxLength);
  if (text !== text.trim()) throw invalidField(`spec.${name}`, 'must not begin or end with a space');
}

const PROVIDER_LABEL = 'provider';

/** Empty where no label names one. */
export function labelledProvider(labels: Labels): string {
  return Object.hasOwn(labels, PROVIDER_LABEL) ? (labels[PROVIDER_LABEL] ?? '') : '';
}

export interface ProviderChoice {
  readonly spec: Pick<MachineSpec, 'provider'>;
  readonly labels: Labels;
  /** Where neither names one. */
  readonly otherwise: string;
}

/** The spec's, or else the one that the label `provider` names, which must be configured as well. */
export function chosenProvider(choice: ProviderChoice, providers: ReadonlySet<string>): string {
  const { spec, labels, otherwise } = choice;
  if (spec.provider !== '') return spec.provider;
  const labelled = labelledProvider(labels);
  if (labelled === '') return otherwise;
  if (!providers.has(labelled)) throw unknownProvider(labelled, providers, `labels.${PROVIDER_LABEL}`);
  return labelled;
}

function unknownProvider(provider: string, providers: ReadonlySet<string>, field = 'spec.provider'): Fault {
  const shown = CONTROL.test(provider) ? JSON.stringify(provider) : provider.slice(0, 80);
  const instead =
    field === 'spec.provider' ? '' : '; name one of them in spec.provider if the label is not meant so';
  return invalidField(
    field,
    `${shown} is not a configured provider; there are ${[...providers].join(', ')}${instead}`,
  );
}

/** In lower case with colons, none of them twice. */
export function checkMacs(given: readonly string[], field: string, stored: readonly string[] = []): string[] {
  if (given.length > MAX_MACS) throw invalidField(field, `must be at most ${MAX_MACS}`);
  const macs = given.map((mac, index) => {
    const normal = mac.toLowerCase().replaceAll('-', ':');
    return stored.includes(normal) ? normal : checkMac(mac, `${field}[${index}]`);
  });
  const twice = macs.find((mac, index) => macs.indexOf(mac) !== index);
  if (twice !== undefined) throw invalidField(field, `${twice} is there twice`);
  return macs;
}

function checkMac(mac: string, field: string): string {
  const problem = macProblem(mac);
  if (problem !== null) throw invalidField(field, problem);
  return mac.toLowerCase().replaceAll('-', ':');
}

/** What is in brackets must be an IPv6 address, which the reader of URLs knows, also in a browser. */
function isHost(text: string): boolean {
  return HOST.test(text) && (!text.startsWith('[') || URL.canParse(`http://${text}/`));
}

function checkEndpoint(endpoint: string, field: string): void {
  if (endpoint === '') return;
  const match = /^(.*?)(?::(\d{1,5}))?$/s.exec(endpoint);
  const [, host = '', port] = match ?? [];
  if (!isHost(host)) throw invalidField(field, 'must be host, host:port or [IPv6]:port');
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) {
    throw invalidField(field, 'has a port that is not between 1 and 65535');
  }
}

function checkLength(endpoint: string, field: string): void {
  if (endpoint.length > MAX_ENDPOINT) throw invalidField(field, `must be at most ${MAX_ENDPOINT} characters`);
}

/** A URL may come in here, but never one that carries a user or a password: a spec is shown to everybody. */
export function checkBmcEndpoint(endpoint: string, field: string): void {
  checkLength(endpoint, field);
  if (!/^[a-z]+:\/\//i.test(endpoint)) {
    checkEndpoint(endpoint, field);
    return;
  }
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  // As it is written: a URL is read more kindly than the names that tell whether two machines share a BMC.
  const [, host = ''] = /^https?:\/\/(?:[^/?#]*@)?(\[[^\]]*\]|[^/:?#]*)/i.exec(endpoint) ?? [];
  if (url === null || !isHost(host) || CONTROL.test(endpoint)) {
    throw invalidField(field, 'must be host, host:port, [IPv6]:port or an http(s) URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidField(field, 'must not carry credentials');
  }
}
