/** The install layer as a provider sees it: what is to be installed on a machine's disk, and what the machine reports. */

import type { Erasure, Overwrite } from '../domain/install/erasure.ts';
import type { InstallProfile } from '../domain/install/install-profile.ts';
import type { InstallState } from '../domain/install/install-state.ts';
import type { Machine } from '../domain/machine/machine.ts';
import type { BurnInOrders } from './burn-ins.ts';

/** What the store knows at the start of an operation, beside the machine itself. */
export interface InstallFacts {
  /** The names of all images. */
  readonly images: readonly string[];
  /** By machine; a machine that never booted from the network is not among them. */
  readonly nodes: ReadonlyMap<string, InstallFactsOfMachine>;
  readonly profiles: ReadonlyMap<string, InstallProfile>;
}

export interface InstallFactsOfMachine {
  readonly state: InstallState;
  readonly profile: string;
  readonly arch: string;
}

export interface InstallOrderView {
  readonly state: string;
  /** Percent; null while nothing is being installed. */
  readonly progress: number | null;
  readonly attempts: number;
  readonly lastError: string;
  /** The operation that ordered it; null: an admin did. */
  readonly operationId: string | null;
  /** The attempt that the order belongs to; empty until one takes it. */
  readonly key: string;
  readonly image: string;
  /** The machine has fetched an installer since the order was given. */
  readonly hasBooted: boolean;
  /** It was made to boot since then. */
  readonly wasSent: boolean;
  /** The last boot that reported has reported its end. */
  readonly bootEnded: boolean;
  /** A boot of this order has reported, and not its end. */
  readonly isAtWork: boolean;
  /** The node has failed as often as it may. */
  readonly isGivenUp: boolean;
  /** The evidence of its last erasure; null: none was reported. */
  readonly erasure: Erasure | null;
  /** A disc is in its virtual drive that the machine has booted from; it was not tried to eject it. */
  readonly hasUsedMedia: boolean;
  /** When the machine last reported or was last made to boot. */
  readonly lastActivityAt: Date;
}

export interface InstallOrderRequest {
  readonly operationId: string;
  readonly key: string;
  /** Empty: the one that its install profile names. */
  readonly image: string;
}

export interface EraseOrderRequest {
  readonly operationId: string;
  readonly key: string;
  readonly overwrite: Overwrite;
}

export interface BootUrlRequest {
  readonly operationId: string;
  /** As the address of an HTTP boot, or as a disc in the virtual drive. */
  readonly way: 'http' | 'media';
  /** After a URL of this order that the machine did not use: the next way, or the same one again. */
  readonly afterUnused: 'next way' | 'again';
}

export interface NetworkInstalls {
  /** Throws a StepFailure where the facts say that the image can't be installed on the machine. */
  checkStart(machine: Machine, image: string, facts: InstallFacts): void;
  /** Null: the machine is no node. */
  read(machineId: string): Promise<InstallOrderView | null>;
  /**
   * Queues an installation. One that is queued for the same operation, image and key already is left as it is; a key
   * that is new takes an order over that no attempt has yet. Throws a StepFailure where it can't be queued.
   */
  order(machineId: string, request: InstallOrderRequest): Promise<void>;
  /** Throws a StepFailure where the facts say that the machine can't be erased. */
  checkErase(machine: Machine, facts: InstallFacts): void;
  /**
   * Queues an erasure: the node is deprovisioning from then on. One of the same operation that is queued or done is left
   * as it is; a key that is new starts one again that failed too often. Throws a StepFailure where it can't be queued.
   */
  orderErase(machineId: string, request: EraseOrderRequest): Promise<void>;
  /**
   * A one-time URL for the machine's next boot, to be given to its BMC: a secret. While it has one, its MAC address opens nothing. Where the
   * machine was made to boot with an earlier one of this order and did not use it, or where nothing can be served in this way, the answer
   * says so.
   */
  issueBootUrl(
    machineId: string,
    request: BootUrlRequest,
  ): Promise<{ readonly url: string } | { readonly obstacle: string }>;
  /** No URL is given to the machine: its MAC address counts again. */
  dropBootUrl(machineId: string): Promise<void>;
  /** To be called before a disc is inserted: what is not known to be in a drive is never taken out of it. */
  insertsMedia(machineId: string, operationId: string, url: string): Promise<void>;
  /** Whether the operation or an earlier one has inserted a disc, and not been seen to take it out. */
  hasInsertedMedia(machineId: string): Promise<boolean>;
  /** Whether it is the address of the disc that was inserted last. */
  isInsertedMedia(machineId: string, url: string): Promise<boolean>;
  /** It is tried to eject it: `out` where it is certainly not in the drive any more. */
  ejectedMedia(machineId: string, result: 'out' | 'not known'): Promise<void>;
  /** Whether it is the URL that was issued last for the machine, and still opens something. */
  isCurrentBootUrl(machineId: string, url: string): Promise<boolean>;
  /** The machine was made to boot. */
  sentIntoBoot(machineId: string, operationId: string): Promise<void>;
  readonly burnIns: BurnInOrders;
  /** Cancels the order of this operation: nothing is installed or erased for it any more. */
  giveUp(machineId: string, operationId: string, reason: string): Promise<void>;
}
