/**
 * Three PostgreSQL 15 servers under Patroni, with etcd, from Debian's packages, started by hand on loopback. Replication is
 * synchronous and strict: a commit is answered only when a second server has it, whatever happens.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installTestPackages } from '../../scripts/install-test-packages.ts';
import { needs } from '../parts/debian-packages.ts';
import { freePort } from '../parts/free-port.ts';
import { configOf, type MemberPlace, PASSWORD } from './patroni-config.ts';

const READY_MS = 120_000;

function requirePrograms(): void {
  installTestPackages(['test/faults/run']);
  const { problem } = needs('patroni');
  if (problem !== null) throw new Error(problem);
}

/** PostgreSQL refuses to run as root. */
function account(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const number = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: number('-u'), gid: number('-g') };
}

interface Member extends MemberPlace {
  process: ChildProcess | null;
}

export class PatroniCluster {
  /** Names all servers. */
  readonly url: string;
  /** One a server. */
  readonly urls: readonly string[];
  readonly #folder: string;
  readonly #members: readonly Member[];
  readonly #account = account();
  readonly #etcdPort: number;
  #etcd: ChildProcess | null = null;

  private constructor(folder: string, members: readonly Member[], etcdPort: number) {
    this.#folder = folder;
    this.#members = members;
    this.#etcdPort = etcdPort;
    const hosts = members.map(({ port }) => `127.0.0.1:${port}`);
    const login = `postgresql://postgres:${PASSWORD}`;
    this.url = `${login}@${hosts.join(',')}/postgres?target_session_attrs=read-write`;
    this.urls = hosts.map((host) => `${login}@${host}/postgres`);
  }

  /** Returns when there is a leader with a synchronous standby, and all three are in the cluster. */
  static async start(folder: string): Promise<PatroniCluster> {
    requirePrograms();
    const members: Member[] = [];
    for (const name of ['one', 'two', 'three']) {
      const ports = { port: await freePort(), restPort: await freePort() };
      members.push({ name, folder: join(folder, name), ...ports, process: null });
    }
    const cluster = new PatroniCluster(folder, members, await freePort());
    chmodSync(folder, 0o755);
    process.once('exit', cluster.#killAll);
    await cluster.#startEtcd(await freePort());
    for (const member of members) cluster.#startMember(member);
    await cluster.untilWhole();
    return cluster;
  }

  /** As when its host loses power: Patroni and PostgreSQL die at once, without a shutdown. Returns its name. */
  async killLeader(): Promise<string> {
    const leader = await this.#leader();
    if (!leader) throw new Error('there is no leader to kill');
    killMember(leader);
    await untilExited(leader);
    return leader.name;
  }

  restart(name: string): void {
    const member = this.#members.find((known) => known.name === name);
    if (member) this.#startMember(member);
  }

  /** A leader that accepts writes, two members that stream from it, one of them synchronous. */
  async untilWhole(): Promise<void> {
    const end = performance.now() + READY_MS;
    let seen = '';
    while (performance.now() < end) {
      const members = await this.#clusterView();
      seen = JSON.stringify(members);
      const roles = members.map(({ role, state }) => `${role} ${state}`);
      const isThere = (role: string) =>
        roles.some((text) => text.startsWith(`${role} `) && /running|streaming/.test(text));
      if (roles.length === 3 && ['leader', 'sync_standby', 'replica'].every(isThere)) return;
      await sleep(250);
    }
    throw new Error(`the cluster is not whole: ${seen}\n${this.#logs()}`);
  }

  async stop(): Promise<void> {
    process.off('exit', this.#killAll);
    this.#killAll();
    for (const member of this.#members) await untilExited(member);
  }

  readonly #killAll = () => {
    for (const member of this.#members) killMember(member);
    this.#etcd?.kill('SIGKILL');
  };

  async #leader(): Promise<Member | undefined> {
    const view = await this.#clusterView();
    const name = view.find(({ role }) => role === 'leader')?.name;
    return this.#members.find((member) => member.name === name);
  }

  /** As the first member that answers sees it. */
  async #clusterView(): Promise<Array<{ name: string; role: string; state: string }>> {
    for (const { restPort, process: running } of this.#members) {
      if (!running) continue;
      try {
        const answer = await fetch(`http://127.0.0.1:${restPort}/cluster`, {
          signal: AbortSignal.timeout(2_000),
        });
        const { members } = (await answer.json()) as {
          members: Array<{ name: string; role: string; state: string }>;
        };
        return members;
      } catch {
        // Not up yet; another one may be.
      }
    }
    return [];
  }

  async #startEtcd(peerPort: number): Promise<void> {
    const url = (port: number) => `http://127.0.0.1:${port}`;
    const flags = {
      name: 'etcd',
      'data-dir': join(this.#folder, 'etcd'),
      'listen-client-urls': url(this.#etcdPort),
      'advertise-client-urls': url(this.#etcdPort),
      'listen-peer-urls': url(peerPort),
      'initial-advertise-peer-urls': url(peerPort),
      'initial-cluster': `etcd=${url(peerPort)}`,
      'unsafe-no-fsync': 'true',
    };
    const log = openSync(join(this.#folder, 'etcd.log'), 'a');
    this.#etcd = spawn(
      '/usr/bin/etcd',
      Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
      { stdio: ['ignore', log, log], env: { ETCD_UNSUPPORTED_ARCH: process.arch } },
    );
    closeSync(log);
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const healthy = await fetch(`${url(this.#etcdPort)}/health`).then(
        (answer) => answer.ok,
        () => false,
      );
      if (healthy) return;
      await sleep(100);
    }
    throw new Error(`etcd does not answer\n${this.#logs()}`);
  }

  #startMember(member: Member): void {
    if (!existsSync(member.folder)) {
      mkdirSync(member.folder, { mode: 0o700 });
      if (this.#account) chownSync(member.folder, this.#account.uid, this.#account.gid);
    }
    const config = join(this.#folder, `${member.name}.json`);
    writeFileSync(config, JSON.stringify(configOf(member, this.#etcdPort)), { mode: 0o644 });
    const log = openSync(join(this.#folder, `${member.name}.log`), 'a');
    member.process = spawn('/usr/bin/patroni', [config], {
      ...this.#account,
      cwd: member.folder,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC', HOME: member.folder },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
  }

  #logs(): string {
    const names = ['etcd', ...this.#members.map(({ name }) => name)];
    return names
      .map((name) => join(this.#folder, `${name}.log`))
      .filter((file) => existsSync(file))
      .map((file) => `${file}:\n${readFileSync(file, 'utf8').split('\n').slice(-8).join('\n')}`)
      .join('\n');
  }
}

/** The postmaster is found by the file that it wrote; only what was started here is killed. */
function killMember(member: Member): void {
  const pidFile = join(member.folder, 'data', 'postmaster.pid');
  const running = member.process;
  member.process = null;
  if (!running) return;
  running.kill('SIGKILL');
  if (!existsSync(pidFile)) return;
  const postmaster = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  for (const pid of [postmaster, ...childrenOf(postmaster)]) killQuietly(pid);
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .map(Number)
    .filter((child) => child > 0);
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has exited by itself.
  }
}

/** A postmaster that still runs would keep its port. */
async function untilExited({ folder }: Member): Promise<void> {
  const pidFile = join(folder, 'data', 'postmaster.pid');
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  for (
    let attempt = 0;
    attempt < 200 && existsSync(`/proc/${pid}/cmdline`) && isPostgres(pid);
    attempt += 1
  ) {
    await sleep(50);
  }
}

function isPostgres(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres');
  } catch {
    return false;
  }
}
