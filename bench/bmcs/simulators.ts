/**
 * Many simulated BMCs in one process, for bench/bmcs/run.ts: each has its own port of 127.0.0.1, its own sessions and its own state. The parent
 * talks to it by messages: it gets the URLs first, and for each `report` what was probed since the last one.
 */
import { testAuthority } from '../../test/parts/certificates.ts';
import { RedfishSimulator } from '../../test/parts/redfish/simulator.ts';

export interface SimulatorsReady {
  readonly urls: readonly string[];
  readonly user: string;
  readonly password: string;
  readonly caFile: string;
}

export interface ProbeReport {
  /** Of each BMC: when a probe began, in milliseconds since the last report. */
  readonly probes: ReadonlyArray<readonly number[]>;
  readonly requests: number;
  readonly logins: number;
}

/** How often it is seen which BMCs were asked. Requests closer to each other are of one probe. */
const POLL_MS = 100;
const ONE_PROBE_MS = 1_000;

const count = Number(process.argv[2]);
const PASSWORD = 'a password of the bench';
const authority = testAuthority();
const tls = authority.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' });
const bmcs: RedfishSimulator[] = [];
for (let index = 0; index < count; index += 1)
  bmcs.push(await RedfishSimulator.start({ tls, user: 'root', password: PASSWORD }));

let probes: number[][] = bmcs.map(() => []);
const lastAsked = bmcs.map(() => Number.NEGATIVE_INFINITY);
let since = performance.now();
let [requests, logins] = [0, 0];

function see(): void {
  const now = performance.now();
  for (const [index, bmc] of bmcs.entries()) {
    if (bmc.requests.length === 0) continue;
    requests += bmc.requests.length;
    logins += bmc.requests.filter((line) => line.startsWith('POST ')).length;
    bmc.requests.length = 0;
    if (now - (lastAsked[index] ?? 0) > ONE_PROBE_MS) probes[index]?.push(now - since);
    lastAsked[index] = now;
  }
}

const timer = setInterval(see, POLL_MS);
process.on('message', () => {
  see();
  const report: ProbeReport = { probes, requests, logins };
  probes = bmcs.map(() => []);
  [requests, logins, since] = [0, 0, performance.now()];
  process.send?.(report);
});
process.on('disconnect', () => {
  clearInterval(timer);
  authority.remove();
  process.exit(0);
});
const ready: SimulatorsReady = {
  urls: bmcs.map(({ url }) => url),
  user: 'root',
  password: PASSWORD,
  caFile: authority.caFile,
};
process.send?.(ready);
