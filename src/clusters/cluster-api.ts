/**
 * The requests to a cluster's API server. Each has a time limit, ends at once when its caller is aborted, and fails as
 * a ClusterFailure.
 */
import { Agent } from 'node:https';
import type {
  CoreV1Api,
  RequestContext,
  V1Node,
  V1OwnerReference,
  V1Pod,
  V1Secret,
} from '@kubernetes/client-node';
import { type AddressRule, obeying } from '../connections/address-rules.ts';
import { CredentialProblem, readReferredFile } from '../connections/credential-reference.ts';
import {
  type ClusterConfiguration,
  readCertificates,
  readClientKey,
  readToken,
} from './cluster-configuration.ts';
import { ClusterFailure, clusterFailure } from './cluster-failure.ts';

/** What we need of a Node; the rest of the object, which is large, is dropped. */
export interface NodeView {
  readonly name: string;
  readonly ready: boolean;
  /** Of the Ready condition. */
  readonly reason: string;
  readonly message: string;
  /** The kubelet has stopped reporting. */
  readonly lost: boolean;
  readonly schedulable: boolean;
  readonly kubeletVersion: string;
  /** Our mark of who cordoned it; empty where it was not us. */
  readonly cordonMark: string;
}

/** A pod that a drain moves away. */
export interface WorkloadView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** It was asked to end. */
  readonly ending: boolean;
  /** A controller replaces it elsewhere. */
  readonly managed: boolean;
}

export interface SecretView {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface NodePage {
  readonly nodes: readonly NodeView[];
  /** Empty on the last page. */
  readonly next: string;
}

type Options = Parameters<CoreV1Api['readNode']>[1];

/** On a node that we cordoned, or found cordoned: see node-control.ts. */
const CORDON_ANNOTATION = 'ingot.dev/cordon';
const TOKEN_NAMESPACE = 'kube-system';
const PAGE_SIZE = 500;
const MAX_CONNECTIONS = 16;

export class ClusterApi {
  readonly #name: string;
  readonly #configuration: ClusterConfiguration;
  readonly #agent: Agent;
  #client: Promise<{ core: CoreV1Api; options: (signal: AbortSignal) => Options }> | null = null;

  constructor(name: string, configuration: ClusterConfiguration, rule: AddressRule) {
    this.#name = name;
    this.#configuration = configuration;
    const { client_certificate_file: certificate, client_key_file: key } = configuration;
    const agent = new Agent({
      keepAlive: true,
      maxSockets: MAX_CONNECTIONS,
      rejectUnauthorized: true,
      ca: readCertificates(configuration.ca_file).map((one) => one.toString()),
      ...(certificate === undefined || key === undefined
        ? {}
        : { cert: readReferredFile(certificate), key: readClientKey(key, certificate) }),
    });
    this.#agent = obeying(agent, rule);
  }

  async node(name: string, signal: AbortSignal): Promise<NodeView | null> {
    return this.#request(`reading node ${name}`, signal, async (core, options) =>
      viewOfNode(await core.readNode({ name }, options)),
    ).catch(nullIfMissing);
  }

  /** One page of the node list, from the beginning or from where a page before it ended. */
  async nodePage(from: string, signal: AbortSignal): Promise<NodePage> {
    return this.#request('listing nodes', signal, async (core, options) => {
      const page = { limit: PAGE_SIZE, ...(from === '' ? {} : { _continue: from }) };
      const list = await core.listNode(page, options);
      return { nodes: list.items.map(viewOfNode), next: list.metadata?._continue ?? '' };
    });
  }

  /** Cordons or uncordons the node, and sets or removes our mark. */
  async setCordon(
    name: string,
    { unschedulable, mark }: { readonly unschedulable: boolean; readonly mark: string },
    signal: AbortSignal,
  ): Promise<void> {
    const body = {
      metadata: { annotations: { [CORDON_ANNOTATION]: mark === '' ? null : mark } },
      spec: { unschedulable: unschedulable || null },
    };
    await this.#request(
      `${unschedulable ? 'cordoning' : 'uncordoning'} node ${name}`,
      signal,
      (core, options) => core.patchNode({ name, body }, options),
    );
  }

  /** What a drain of the node has to move away. */
  async workloads(node: string, signal: AbortSignal): Promise<WorkloadView[]> {
    const workloads: WorkloadView[] = [];
    let from = '';
    do {
      const page = { limit: PAGE_SIZE, ...(from === '' ? {} : { _continue: from }) };
      const list = await this.#request(`listing the pods of node ${node}`, signal, (core, options) =>
        core.listPodForAllNamespaces({ fieldSelector: `spec.nodeName=${node}`, ...page }, options),
      );
      workloads.push(...list.items.filter(isWorkload).map(viewOfPod));
      from = list.metadata?._continue ?? '';
    } while (from !== '');
    return workloads;
  }

  /** Asks the pod to leave, as its disruption budget allows. One that is gone already is fine. */
  async evict({ namespace, name, uid }: WorkloadView, signal: AbortSignal): Promise<void> {
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      // A StatefulSet gives the next pod, elsewhere, the same name.
      deleteOptions: { preconditions: { uid } },
    };
    await this.#request(`evicting pod ${namespace}/${name}`, signal, (core, options) =>
      core.createNamespacedPodEviction({ name, namespace, body }, options),
    ).catch((error: unknown) => {
      if (!(error instanceof ClusterFailure) || (error.status !== 404 && error.status !== 409)) throw error;
    });
  }

  async createTokenSecret(body: V1Secret, signal: AbortSignal): Promise<void> {
    await this.#request('creating a bootstrap token', signal, (core, options) =>
      core.createNamespacedSecret({ namespace: TOKEN_NAMESPACE, body }, options),
    );
  }

  async tokenSecrets(labelSelector: string, signal: AbortSignal): Promise<SecretView[]> {
    return this.#request('listing bootstrap tokens', signal, async (core, options) => {
      const list = await core.listNamespacedSecret({ namespace: TOKEN_NAMESPACE, labelSelector }, options);
      return list.items.map(({ metadata }) => ({
        name: metadata?.name ?? '',
        annotations: metadata?.annotations ?? {},
      }));
    });
  }

  /** One that is gone already is fine. */
  async deleteTokenSecret(name: string, signal: AbortSignal): Promise<void> {
    await this.#request('removing a bootstrap token', signal, (core, options) =>
      core.deleteNamespacedSecret({ namespace: TOKEN_NAMESPACE, name }, options),
    ).catch(nullIfMissing);
  }

  async #request<T>(
    doing: string,
    signal: AbortSignal,
    send: (core: CoreV1Api, options: Options) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const limit = AbortSignal.timeout(this.#configuration.request_timeout_seconds * 1000);
    try {
      this.#client ??= this.#load();
      const { core, options } = await this.#client;
      return await send(core, options(AbortSignal.any([signal, limit])));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof CredentialProblem) throw unreadable(error, this.#name);
      throw clusterFailure(error, this.#name, doing);
    }
  }

  /** Loaded at the first request: the client's models take a second to load, and many servers never need them. */
  async #load(): Promise<{ core: CoreV1Api; options: (signal: AbortSignal) => Options }> {
    const kubernetes = await import('@kubernetes/client-node');
    const { CoreV1Api, createConfiguration, Observable, ServerConfiguration } = kubernetes;
    const authenticate = (context: RequestContext) => {
      context.setAgent(this.#agent);
      const token = readToken(this.#configuration);
      if (token !== null) context.setHeaderParam('Authorization', `Bearer ${token}`);
    };
    const core = new CoreV1Api(
      createConfiguration({
        baseServer: new ServerConfiguration(this.#configuration.server.replace(/\/+$/, ''), {}),
        authMethods: {
          default: { getName: () => 'ingot', applySecurityAuthentication: authenticate },
        },
      }),
    );
    const options = (signal: AbortSignal): Options => ({
      middleware: [
        {
          pre(context) {
            context.setSignal(signal);
            // Without it the client sends an object as a list of patches.
            if (context.getHttpMethod() === 'PATCH') {
              context.setHeaderParam('Content-Type', 'application/merge-patch+json');
            }
            return new Observable(Promise.resolve(context));
          },
          post: (answer) => new Observable(Promise.resolve(answer)),
        },
      ],
    });
    return { core, options };
  }
}

function nullIfMissing(error: unknown): null {
  if (error instanceof ClusterFailure && error.status === 404) return null;
  throw error;
}

function unreadable(problem: CredentialProblem, cluster: string): ClusterFailure {
  const message = `the credentials for ${cluster} can't be had: ${problem.message}`;
  return new ClusterFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message }, null);
}

function viewOfNode(node: V1Node): NodeView {
  const condition = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    name: node.metadata?.name ?? '',
    ready: condition?.status === 'True',
    reason: condition?.reason ?? '',
    message: condition?.message ?? '',
    lost: condition?.status === 'Unknown',
    schedulable: node.spec?.unschedulable !== true,
    kubeletVersion: node.status?.nodeInfo?.kubeletVersion ?? '',
    cordonMark: node.metadata?.annotations?.[CORDON_ANNOTATION] ?? '',
  };
}

/** Not what has ended, what a DaemonSet would make again at once, or what the kubelet runs from its own files. */
function isWorkload({ metadata, status }: V1Pod): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false;
  if (metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined) return false;
  return controllerOf(metadata)?.kind !== 'DaemonSet';
}

function controllerOf(metadata: V1Pod['metadata']): V1OwnerReference | undefined {
  return metadata?.ownerReferences?.find(({ controller }) => controller === true);
}

function viewOfPod({ metadata }: V1Pod): WorkloadView {
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    ending: metadata?.deletionTimestamp !== undefined,
    managed: controllerOf(metadata) !== undefined,
  };
}
