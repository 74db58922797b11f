/**
 * A real BMC: ipmi_sim on its own loopback port, whose chassis is a process that is started by power on, ended by
 * power off, and that ends itself when the operating system is asked to go down.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type IpmiSensor, sensorCommands } from './ipmi-sensors.ts';
import type { SerialLine } from './serial-line.ts';

const USER = 'admin';
/** Of a shape that can be searched for in everything that is written anywhere. */
const PASSWORD = 'Quee7-zu9ohG-pass';

/** ipmi_sim calls it with "get" and names, or "set" and names with values. Whatever is in the directory steers it. */
const HOOK = `#!/bin/sh
cd "$1" || exit 1
shift
op=$1
shift
echo "$op $*" >> commands
[ -s slow ] && sleep "$(cat slow)"
alive() { [ -s pid ] && [ -r "/proc/$(cat pid)/stat" ] && ! grep -q ') Z ' "/proc/$(cat pid)/stat"; }
start() {
  alive && return
  cat boot >> boots
  # A flag for one boot is used up by it.
  echo none > boot
  cat /proc/sys/kernel/random/uuid > boot-id
  setsid ./machine "$(tail -n 1 boots)" </dev/null >/dev/null 2>&1 &
  echo $! > pid
}
stop() { alive && kill -KILL "$(cat pid)"; rm -f pid; }
while [ $# -gt 0 ]; do
  name=$1
  shift
  if [ "$op" = get ]; then
    case $name in
      power) if alive; then echo power:1; else echo power:0; fi ;;
      boot) echo "boot:$(cat boot)" ;;
      *) exit 1 ;;
    esac
  else
    value=$1
    shift
    case $name in
      power) if [ "$value" = 1 ]; then start; elif [ ! -e ignores-off ]; then stop; fi ;;
      reset) stop; start ;;
      shutdown) alive && kill -TERM "$(cat pid)" ;;
      boot) [ -e ignores-boot ] || echo "$value" > boot ;;
      # Seconds, and whether it stays on.
      identify) echo "$value $*" > identify; set -- ;;
      *) exit 1 ;;
    esac
  fi
done
exit 0
`;

const CONTROLLER = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
sel_enable 0x20 1000 0x0a
mc_enable 0x20
`;

/** What its machine can be made to do. */
export type BmcFault = 'ignores-off' | 'ignores-boot';

export interface IpmiBmc {
  readonly endpoint: string;
  readonly user: string;
  readonly password: string;
  readonly passwordFile: string;
  /** Changes with every power on. */
  readonly bootIdFile: string;
  isOn(): boolean;
  /** What each boot was from, the oldest first: pxe, default (the disk), none. */
  boots(): string[];
  /** What the chassis was asked for: "get power", "set power 1". */
  commands(): string[];
  /** Whether its indicator was last switched on. */
  isLit(): boolean;
  /** Every command takes this long. */
  slowDown(seconds: number): void;
  fault(fault: BmcFault): void;
  repair(): void;
  /** Sends a command of ipmitool. */
  send(...command: string[]): void;
  /** As its button does. */
  switchOn(): void;
  /** The machine goes off without a request. */
  losePower(): void;
  /** The BMC is there and says nothing. */
  freeze(): void;
  thaw(): void;
  /** The BMC is gone; its machine goes on. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface BmcOptions {
  /**
   * The script of a shell that is the machine while it has power. Its argument is what to boot from: pxe, default
   * (the disk), none. Without one, the machine is a process that only is there.
   */
  readonly machine?: string;
  /** None without it. */
  readonly sensors?: readonly IpmiSensor[];
  /** The machine's serial line, which its SOL is for. */
  readonly serial?: Pick<SerialLine, 'port' | 'connected' | 'stop'>;
  /** ipmi_sim keeps what is longer than 16 of an old password, so one that is replaced is no longer. */
  readonly password?: string;
}

export async function startBmc({
  machine = 'exec sleep 100000',
  sensors = [],
  serial,
  password = PASSWORD,
}: BmcOptions = {}): Promise<IpmiBmc> {
  const dir = mkdtempSync(join(tmpdir(), 'ingot-bmc-'));
  const file = (name: string) => join(dir, name);
  const port = await freeUdpPort();
  mkdirSync(file('state'));
  writeFileSync(file('hook'), HOOK, { mode: 0o755 });
  writeFileSync(file('machine'), `#!/bin/sh\n${machine}\n`, { mode: 0o755 });
  writeFileSync(file('controller'), `${CONTROLLER}${sensorCommands(sensors)}\n`);
  writeFileSync(file('password'), `${password}\n`, { mode: 0o600 });
  writeFileSync(file('boot'), 'none\n');
  writeFileSync(file('lan'), lanConfiguration(dir, port, { serial, password }));
  const args = ['-n', '-c', file('lan'), '-f', file('controller'), '-s', file('state')];
  const simulator = spawn('ipmi_sim', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  // A test that fails before it stops its BMC must not leave it behind.
  const endWithUs = () => simulator.kill('SIGKILL');
  process.once('exit', endWithUs);
  const exited = new Promise((resolve) => simulator.once('exit', resolve));
  await untilAnswering(port, password, simulator);
  await serial?.connected();
  const lines = (name: string) =>
    existsSync(file(name)) ? readFileSync(file(name), 'utf8').trimEnd().split('\n') : [];
  const machinePid = () => Number(lines('pid')[0] ?? 0);
  const losePower = () => {
    if (isAlive(machinePid())) process.kill(machinePid(), 'SIGKILL');
  };
  const kill = async () => {
    simulator.kill('SIGKILL');
    await exited;
  };
  return {
    endpoint: `127.0.0.1:${port}`,
    user: USER,
    password,
    passwordFile: file('password'),
    bootIdFile: file('boot-id'),
    isOn: () => isAlive(machinePid()),
    boots: () => lines('boots'),
    commands: () => lines('commands'),
    isLit: () => lines('identify').some((line) => line.trim() !== '0 0'),
    slowDown: (seconds) => writeFileSync(file('slow'), seconds === 0 ? '' : String(seconds)),
    fault: (fault) => writeFileSync(file(fault), ''),
    repair: () => {
      for (const fault of ['ignores-off', 'ignores-boot', 'slow']) rmSync(file(fault), { force: true });
    },
    send: (...command) => {
      const args = ['-I', 'lanplus', '-C', '3', '-H', '127.0.0.1', '-p', String(port), '-U', USER, '-E'];
      const env = { PATH: process.env.PATH, IPMITOOL_PASSWORD: password };
      const { status, stderr } = spawnSync('ipmitool', [...args, ...command], { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(stderr);
    },
    switchOn: () => {
      spawnSync(file('hook'), [dir, 'set', 'power', '1']);
    },
    losePower,
    freeze: () => simulator.kill('SIGSTOP'),
    thaw: () => simulator.kill('SIGCONT'),
    kill,
    stop: async () => {
      process.off('exit', endWithUs);
      await kill();
      await serial?.stop();
      losePower();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function lanConfiguration(
  dir: string,
  port: number,
  { serial, password }: { readonly serial: BmcOptions['serial']; readonly password: string },
): string {
  return `name "bmc"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 ${port}
    priv_limit admin
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  ${serial ? `sol "tcp:127.0.0.1:${serial.port}" 115200` : ''}
  chassis_control "${join(dir, 'hook')} ${dir}"
  user 2 true "${USER}" "${password}" admin 10 none md2 md5 straight
`;
}

/** A zombie is dead: in some containers no init process reaps them. */
function isAlive(pid: number): boolean {
  try {
    return pid > 0 && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address() as AddressInfo;
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

async function untilAnswering(port: number, password: string, simulator: ChildProcess): Promise<void> {
  const args = ['-I', 'lanplus', '-C', '3', '-H', '127.0.0.1', '-p', String(port), '-U', USER, '-E'];
  const env = { PATH: process.env.PATH, IPMITOOL_PASSWORD: password };
  for (let attempt = 0; attempt < 20; attempt++) {
    if (simulator.exitCode !== null) throw new Error('ipmi_sim did not start');
    const asked = spawn('ipmitool', [...args, '-N', '1', '-R', '1', 'mc', 'guid'], { env, stdio: 'ignore' });
    const exitCode = await new Promise((resolve) => asked.once('exit', resolve));
    if (exitCode === 0) return;
    await sleep(50);
  }
  throw new Error('ipmi_sim does not answer');
}
