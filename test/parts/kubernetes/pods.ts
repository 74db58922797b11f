/**
 * Pods of the stand-in, in the API's own format: listed by node, and evicted as the API server does it. An eviction
 * that a disruption budget allows asks the pod to end; it is gone when its node's kubelet says so, which is after
 * `endsAfterMs`, or never where the kubelet is not there.
 */
import { randomUUID } from 'node:crypto';
import { type KubernetesObject, StatusError } from './objects.ts';

export interface PodRequest {
  readonly node: string;
  readonly name: string;
  readonly namespace?: string;
  /** What made it; a Deployment's ReplicaSet unless said otherwise. */
  readonly owner?: 'ReplicaSet' | 'StatefulSet' | 'DaemonSet' | 'none';
  /** Run by the kubelet from a file of the host. */
  readonly mirror?: true;
  readonly phase?: 'Running' | 'Succeeded' | 'Failed';
  readonly labels?: Readonly<Record<string, string>>;
}

export interface Budget {
  readonly name: string;
  readonly namespace: string;
  /** Pods whose label `app` is this. */
  readonly app: string;
  /** How many evictions it still allows. */
  allowed: number;
}

export class Pods {
  readonly budgets: Budget[] = [];
  /** "default/web-1", in the order in which their evictions were granted. */
  readonly evicted: string[] = [];
  endsAfterMs: number | null = 0;
  readonly #pods = new Map<string, KubernetesObject>();

  add(request: PodRequest): void {
    const { node, name, namespace = 'default', owner = 'ReplicaSet', labels = {} } = request;
    const references =
      owner === 'none'
        ? []
        : [{ apiVersion: 'apps/v1', kind: owner, name: 'owner', uid: randomUUID(), controller: true }];
    this.#pods.set(`${namespace}/${name}`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        uid: randomUUID(),
        labels,
        ...(request.mirror ? { annotations: { 'kubernetes.io/config.mirror': 'c0ffee' } } : {}),
        ownerReferences: references,
      },
      spec: { nodeName: node, containers: [{ name: 'main', image: 'stand-in' }] },
      status: { phase: request.phase ?? 'Running' },
    });
  }

  names(): string[] {
    return [...this.#pods.keys()].sort();
  }

  clear(): void {
    this.#pods.clear();
    this.budgets.length = 0;
    this.evicted.length = 0;
    this.endsAfterMs = 0;
  }

  /** As GET /api/v1/pods with a field selector. */
  list(query: URLSearchParams): unknown {
    const selector = query.get('fieldSelector') ?? '';
    const [field, node] = selector.split('=');
    if (field !== 'spec.nodeName') {
      throw new StatusError(400, 'BadRequest', `field label not supported: ${field}`);
    }
    const items = [...this.#pods.values()].filter(
      ({ spec }) => (spec as { nodeName: string }).nodeName === node,
    );
    return { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items };
  }

  /** As POST to a pod's eviction. */
  evict(namespace: string, name: string, body: unknown): unknown {
    const key = `${namespace}/${name}`;
    const pod = this.#pods.get(key);
    if (!pod) throw new StatusError(404, 'NotFound', `pods "${name}" not found`);
    const { kind, deleteOptions } = (body ?? {}) as {
      kind?: string;
      deleteOptions?: { preconditions?: { uid?: string } };
    };
    if (kind !== 'Eviction') throw new StatusError(400, 'BadRequest', 'no Eviction');
    const uid = deleteOptions?.preconditions?.uid;
    if (uid !== undefined && uid !== pod.metadata.uid) {
      const message = `Operation cannot be fulfilled on Pod "${name}": the UID in the precondition does not match`;
      throw new StatusError(409, 'Conflict', message);
    }
    this.#askBudget(pod);
    this.evicted.push(key);
    this.#end(key, pod);
    return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  }

  #askBudget({ metadata }: KubernetesObject): void {
    const budget = this.budgets.find(
      ({ namespace, app }) => namespace === metadata.namespace && app === metadata.labels?.app,
    );
    if (!budget) return;
    if (budget.allowed === 0) {
      const cause = `The disruption budget ${budget.name} needs 1 healthy pods and has 1 currently`;
      const message = "Cannot evict pod as it would violate the pod's disruption budget.";
      throw new StatusError(429, 'TooManyRequests', message, [
        { reason: 'DisruptionBudget', message: cause },
      ]);
    }
    budget.allowed -= 1;
  }

  #end(key: string, pod: KubernetesObject): void {
    if (this.endsAfterMs === 0) {
      this.#pods.delete(key);
      return;
    }
    const metadata = {
      ...pod.metadata,
      deletionTimestamp: '2026-01-01T00:00:30Z',
      deletionGracePeriodSeconds: 30,
    };
    this.#pods.set(key, { ...pod, metadata });
    if (this.endsAfterMs !== null) setTimeout(() => this.#pods.delete(key), this.endsAfterMs).unref();
  }
}
