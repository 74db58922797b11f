/** The objects that the stand-in keeps, in the API's own format, and the answers that it gives about them. */
import { createHmac, randomUUID } from 'node:crypto';

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

interface StatusCause {
  readonly reason: string;
  readonly message: string;
}

/** A refusal, as the API words it. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly causes: readonly StatusCause[];

  constructor(code: number, reason: string, message: string, causes: readonly StatusCause[] = []) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.causes = causes;
  }
}

export function statusOf({ code, reason, message, causes }: StatusError) {
  const details = causes.length === 0 ? {} : { details: { causes } };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...details,
    code,
  };
}

/** A merge patch (RFC 7386): null takes a field away. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = { ...(typeof target === 'object' ? target : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/** One collection of objects: what create, get, list and delete do to it. */
export class Collection {
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #resource: string;
  readonly #kind: string;
  #version = 1;

  constructor(resource: string, kind: string) {
    this.#resource = resource;
    this.#kind = kind;
  }

  names(): string[] {
    return [...this.#objects.keys()].sort();
  }

  find(name: string): KubernetesObject | null {
    return this.#objects.get(name) ?? null;
  }

  get(name: string): KubernetesObject {
    const found = this.#objects.get(name);
    if (found) return found;
    throw new StatusError(404, 'NotFound', `${this.#resource} "${name}" not found`);
  }

  create(object: KubernetesObject): KubernetesObject {
    const { name } = object.metadata ?? {};
    if (typeof name !== 'string' || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name)) {
      throw new StatusError(422, 'Invalid', `${this.#kind} is invalid: metadata.name: Required value`);
    }
    if (this.#objects.has(name)) {
      throw new StatusError(409, 'AlreadyExists', `${this.#resource} "${name}" already exists`);
    }
    return this.put(object);
  }

  put(object: KubernetesObject): KubernetesObject {
    this.#version++;
    const kept = {
      ...object,
      metadata: {
        uid: randomUUID(),
        creationTimestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
        ...object.metadata,
        resourceVersion: String(this.#version),
      },
    };
    this.#objects.set(object.metadata.name, kept);
    return kept;
  }

  delete(name: string) {
    const { uid } = this.get(name).metadata;
    this.#objects.delete(name);
    const details = { name, kind: this.#resource, uid };
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
  }

  list(query: URLSearchParams) {
    const wanted = (query.get('labelSelector') ?? '')
      .split(',')
      .filter((part) => part !== '')
      .map((part) => part.split(/==?/) as [string, string]);
    const after = readContinue(query.get('continue'));
    const limit = Number(query.get('limit') ?? 0) || Number.POSITIVE_INFINITY;
    const matching = this.names()
      .map((name) => this.get(name))
      .filter(({ metadata }) => wanted.every(([key, value]) => metadata.labels?.[key] === value))
      .filter(({ metadata }) => metadata.name > after);
    const items = matching.slice(0, limit);
    const left = matching.length - items.length;
    const last = items.at(-1)?.metadata.name ?? '';
    const metadata = {
      resourceVersion: String(this.#version),
      ...(left > 0 ? { continue: writeContinue(last), remainingItemCount: left } : {}),
    };
    return { kind: `${this.#kind}List`, apiVersion: 'v1', metadata, items };
  }
}

function writeContinue(after: string): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', start: after })).toString('base64url');
}

function readContinue(token: string | null): string {
  if (token === null || token === '') return '';
  try {
    return String(JSON.parse(Buffer.from(token, 'base64url').toString()).start);
  } catch {
    throw new StatusError(400, 'BadRequest', 'continue key is not valid');
  }
}

/** As the API server does on the way in: what was given as text is kept as base64. */
export function withStringData(secret: KubernetesObject): KubernetesObject {
  const {
    stringData = {},
    data = {},
    ...rest
  } = secret as unknown as {
    stringData?: Record<string, string>;
    data?: Record<string, string>;
  };
  const encoded = Object.entries(stringData).map(([key, text]) => [
    key,
    Buffer.from(text).toString('base64'),
  ]);
  return { ...(rest as unknown as KubernetesObject), data: { ...data, ...Object.fromEntries(encoded) } };
}

export function readSecret(secret: KubernetesObject): Record<string, string> {
  const data = (secret.data ?? {}) as Record<string, string>;
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]),
  );
}

export interface ReadyCondition {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export const READY: ReadyCondition = {
  status: 'True',
  reason: 'KubeletReady',
  message: 'kubelet is posting ready status',
};

export const NOT_READY: ReadyCondition = {
  status: 'Unknown',
  reason: 'NodeStatusUnknown',
  message: 'Kubelet stopped posting node status.',
};

export function nodeObject(name: string, ready: ReadyCondition): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name } },
    spec: {},
    status: {
      conditions: [
        { type: 'MemoryPressure', status: 'False', reason: 'KubeletHasSufficientMemory', message: '' },
        { type: 'Ready', ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
      nodeInfo: { kubeletVersion: 'v1.31.2', osImage: 'stand-in' },
    },
  };
}

/** A detached signature of the text with a token's secret, as the cluster's bootstrap signer makes it. */
export function detachedSignature(text: string, id: string, secret: string): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url');
  const payload = Buffer.from(text).toString('base64url');
  const signature = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url');
  return `${header}..${signature}`;
}
