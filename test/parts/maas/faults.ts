/** Faults on demand. Those of machines are checked where the simulator would succeed, the others when a request arrives. */
export const MACHINE_FAULTS = [
  /** Another machine has the same address. */
  'conflicting_candidates',
  'no_boss_disk',
  'pxe_stays_wrong',
  /** It is deleted half-way through what is named by "during". */
  'deleted_midway',
  'commissioning_failure',
  'datasource_failure',
  /** A deployment that fails for another reason. */
  'deployment_failure',
  'hardware_sync_failing',
  'agent_never_enrols',
  'release_failure',
  'erase_failure',
  /** The tests after the next commissioning fail. */
  'testing_failure',
  /** The BMC refuses to switch the machine on, or off. */
  'power_on_failure',
  'power_off_failure',
  /** As power_off_failure, but without an event. */
  'power_off_failure_quiet',
  /** The BMC does not answer MAAS. */
  'bmc_silent',
  /** Its interfaces have neither a link nor a VLAN with a subnet. */
  'no_subnet',
] as const;
export type MachineFault = (typeof MACHINE_FAULTS)[number];

export const TRANSPORT_FAULTS = [
  /** Answers after "ms". */
  'slow',
  /** 500. */
  'error',
  /** 502, as a proxy says it. */
  'bad_gateway',
  /** 409, with Retry-After where "retry_after" is given. */
  'conflict',
  /** 503, likewise. */
  'unavailable',
  /** The connection is closed without an answer. */
  'drop',
  /** Half of an answer. */
  'truncate',
  /** Half of an answer without a Content-Length. */
  'truncate_quietly',
  'redirect',
  /** An answer without end. */
  'flood',
  /** 400, with the whole request in it. */
  'echo',
  /** 403. */
  'forbidden',
  /** 404. */
  'not_found',
  /** JSON that no MAAS says. */
  'strange',
] as const;
export type TransportFault = (typeof TRANSPORT_FAULTS)[number];

export interface FaultInput {
  readonly fault: MachineFault | TransportFault;
  /** Which machine; any without them. */
  readonly system_id?: string;
  readonly mac?: string;
  /** How often; forever with null. Once without it. */
  readonly times?: number | null;
  /** Of transport faults: which requests. */
  readonly method?: string;
  readonly op?: string;
  /** Part of the path. */
  readonly path?: string;
  readonly ms?: number;
  readonly retry_after?: number;
  /** The request is carried out, and only its answer is spoiled. */
  readonly after_effect?: boolean;
  /** Of deleted_midway: Commissioning or Deploying, any without it. */
  readonly during?: string;
}

export interface FaultyMachine {
  readonly systemId: string;
  readonly macs: readonly string[];
}

export interface FaultyRequest {
  readonly method: string;
  readonly path: string;
  readonly op: string;
  readonly machine: FaultyMachine | null;
}

interface Fault extends FaultInput {
  left: number;
}

export class Faults {
  readonly #faults = new Set<Fault>();

  add(input: FaultInput): void {
    this.#faults.add({
      ...input,
      left: input.times === null ? Number.POSITIVE_INFINITY : (input.times ?? 1),
    });
  }

  /** All of them, or those of one machine. */
  clear(mac?: string): void {
    for (const fault of this.#faults) {
      if (mac === undefined || fault.mac?.toLowerCase() === mac.toLowerCase()) this.#faults.delete(fault);
    }
  }

  list(): (FaultInput & { readonly left: number | null })[] {
    return [...this.#faults].map((fault) => ({
      ...fault,
      left: fault.left === Number.POSITIVE_INFINITY ? null : fault.left,
    }));
  }

  /** Whether it is there, without using it up. */
  has(kind: MachineFault, machine: FaultyMachine): boolean {
    return this.#find(kind, machine) !== undefined;
  }

  /** Uses it up once. */
  take(kind: MachineFault, machine: FaultyMachine, during = ''): boolean {
    const fault = this.#find(kind, machine, during);
    if (fault) this.#use(fault);
    return fault !== undefined;
  }

  takeTransport(request: FaultyRequest): FaultInput | null {
    for (const fault of this.#faults) {
      const isOne = (TRANSPORT_FAULTS as readonly string[]).includes(fault.fault);
      if (!isOne || !meansRequest(fault, request)) continue;
      this.#use(fault);
      return fault;
    }
    return null;
  }

  #find(kind: MachineFault, machine: FaultyMachine, during = ''): Fault | undefined {
    return [...this.#faults].find(
      (fault) =>
        fault.fault === kind &&
        meansMachine(fault, machine) &&
        (fault.during === undefined || during === '' || fault.during === during),
    );
  }

  #use(fault: Fault): void {
    fault.left--;
    if (fault.left <= 0) this.#faults.delete(fault);
  }
}

function meansMachine({ system_id: id, mac }: FaultInput, machine: FaultyMachine): boolean {
  if (id !== undefined && id !== '*' && id !== machine.systemId) return false;
  return mac === undefined || mac === '*' || machine.macs.includes(mac.toLowerCase());
}

function meansRequest(fault: FaultInput, { method, path, op, machine }: FaultyRequest): boolean {
  if (fault.method !== undefined && fault.method !== method) return false;
  if (fault.op !== undefined && fault.op !== op) return false;
  if (fault.path !== undefined && !path.includes(fault.path)) return false;
  const isOfOne = [fault.system_id, fault.mac].some((given) => given !== undefined && given !== '*');
  return !isOfOne || (machine !== null && meansMachine(fault, machine));
}
