/** The simulated MAAS for a test: a separate process, and the calls that control it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import type { SimRequest } from './admin-routes.ts';
import type { AgentView } from './agents.ts';
import type { FaultInput } from './faults.ts';
import type { SimCommissioning, SimReleaseRun } from './sim-machine.ts';
import type { Settings, SimSite } from './sim-site.ts';

export interface MaasSimulatorOptions {
  readonly port?: number;
  /** Simulated seconds a second; 600 makes a deployment take one. */
  readonly speed?: number;
  readonly apiKey?: string;
  readonly minKeepaliveMs?: number;
}

export interface SimMachineView {
  readonly system_id: string;
  readonly hostname: string;
  readonly status_name: string;
  readonly power_state: string;
  readonly mac_addresses: readonly string[];
  readonly agent: AgentView | null;
}

export interface SimMachineDetails extends SimMachineView {
  readonly owner: string | null;
  readonly locked: boolean;
  readonly zone: string;
  readonly pool: string;
  readonly domain: string;
  readonly tags: readonly string[];
  readonly min_hwe_kernel: string;
  readonly hwe_kernel: string | null;
  /** What the last commissioning was asked for. */
  readonly commissioning: SimCommissioning | null;
  readonly release_runs: readonly SimReleaseRun[];
  readonly power_type: string;
  readonly power_parameters: Readonly<Record<string, string>>;
  readonly user_data: string;
  readonly osystem: string;
  readonly distro_series: string;
  readonly boot_disk_id: number | null;
  readonly root_disk_id: number | null;
  readonly error_description: string;
}

export interface MaasAdmin {
  /** A machine that MAAS has discovered, or one in a later status. */
  addMachine(machine: {
    readonly mac_addresses: readonly string[];
    readonly hostname?: string;
    readonly status?: string;
    readonly events?: number;
    /** None where MAAS discovered it, unless it is given. */
    readonly power_type?: string;
    readonly owner?: string;
    readonly locked?: boolean;
    readonly bond?: boolean;
  }): Promise<SimMachineView>;
  machines(): Promise<SimMachineView[]>;
  machine(systemId: string): Promise<SimMachineDetails>;
  removeMachine(systemId: string): Promise<void>;
  /** What its administrator does with it by hand. */
  changeMachine(
    systemId: string,
    change: {
      readonly status?: string;
      readonly power?: 'on' | 'off';
      readonly owner?: string | null;
      readonly locked?: boolean;
      readonly osystem?: string;
      readonly power_type?: string;
      /** A person switches it off and on, where MAAS can't. */
      readonly boot?: true;
    },
  ): Promise<void>;
  /** Its user, its settings, and where machines can be put. */
  changeSite(
    change: Partial<Pick<SimSite, 'user' | 'zones' | 'pools' | 'domains' | 'tags'>> & {
      readonly settings?: Partial<Settings>;
    },
  ): Promise<void>;
  fault(fault: FaultInput): Promise<void>;
  faults(): Promise<(FaultInput & { readonly left: number | null })[]>;
  /** All of them, or those of one machine. */
  clearFaults(mac?: string): Promise<void>;
  /** What MAAS was asked, the oldest first; a spoiled answer has status 0. */
  requests(): Promise<SimRequest[]>;
  /** From now on; what is under way keeps its pace. */
  setSpeed(speed: number): Promise<void>;
}

export interface MaasSimulator {
  /** For a provider's configuration: up to and with /MAAS. */
  readonly url: string;
  readonly apiKey: string;
  readonly admin: MaasAdmin;
  /** It is there and says nothing. */
  freeze(): void;
  thaw(): void;
  /** At once, as by SIGKILL; its state is gone. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export function startMaasSimulator(options: MaasSimulatorOptions = {}): Promise<MaasSimulator> {
  const { port = 0, speed = 1, apiKey, minKeepaliveMs = 2_000 } = options;
  const args = ['--port', String(port), '--speed', String(speed), '--tied'];
  args.push('--min-keepalive-ms', String(minKeepaliveMs));
  if (apiKey !== undefined) args.push('--api-key', apiKey);
  // Once it has said that it is there, it needs its file no more.
  return withProgram((file) => startProgram([file, ...args]));
}

async function startProgram(args: readonly string[]): Promise<MaasSimulator> {
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH },
  });
  const exited = once(child, 'exit');
  // A test that fails before it stops its MAAS must not leave it behind, nor a frozen one.
  const endWithUs = () => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  exited.then(() => process.off('exit', endWithUs));
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await exited;
  };
  const started = await firstLine(child).catch(async (error: unknown) => {
    await end('SIGKILL');
    throw error;
  });
  const { url, api_key: key } = JSON.parse(started) as { url: string; api_key: string };
  return {
    url,
    apiKey: key,
    admin: adminOf(new URL('/_sim/', url)),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    kill: () => end('SIGKILL'),
    stop: () => {
      child.kill('SIGCONT');
      return end('SIGTERM');
    },
  };
}

let bundle: Promise<string> | null = null;

/** From the sources it is made one file first, once for all that a test starts; compiled, it is there. */
async function withProgram<T>(use: (file: string) => Promise<T>): Promise<T> {
  if (!import.meta.url.endsWith('.ts')) return use(fileURLToPath(new URL('main.js', import.meta.url)));
  bundle ??= bundled();
  const code = await bundle;
  const folder = mkdtempSync(join(tmpdir(), 'ingot-maas-sim-'));
  try {
    const file = join(folder, 'maas-sim.mjs');
    writeFileSync(file, code);
    return await use(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function bundled(): Promise<string> {
  const { output } = await build({
    input: fileURLToPath(new URL('main.ts', import.meta.url)),
    platform: 'node',
    tsconfig: false,
    logLevel: 'warn',
    write: false,
    output: { format: 'esm', codeSplitting: false },
  });
  return output[0].code;
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('the simulator has no output');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error('the simulator did not start');
}

function adminOf(base: URL): MaasAdmin {
  const ask = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(new URL(path, base), {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} /_sim/${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  return {
    addMachine: (machine) => ask('POST', 'machines', machine),
    machines: () => ask('GET', 'machines'),
    machine: (systemId) => ask('GET', `machines/${systemId}`),
    removeMachine: (systemId) => ask('DELETE', `machines/${systemId}`),
    changeMachine: (systemId, change) => ask('PATCH', `machines/${systemId}`, change),
    changeSite: (change) => ask('PATCH', 'site', change),
    fault: (fault) => ask('POST', 'faults', fault),
    faults: () => ask('GET', 'faults'),
    clearFaults: (mac) => ask('DELETE', 'faults', mac === undefined ? undefined : { mac }),
    requests: () => ask('GET', 'requests'),
    setSpeed: (speed) => ask('POST', 'clock', { speed }),
  };
}
