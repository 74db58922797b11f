/**
 * The simulated BMC as a program: `npm run redfish-sim -- [--vendor dell] [--port 8443] [--user root] [--password …] [--settle-ms 2000] [--session-seconds 1800] [--raid]`.
 * The first line on stdout is JSON: url, user, password, ca_file. Each line on stdin is the name of a fault, or an empty line for none; `?`
 * prints the requests so far, the power and the boots. Ends on a signal, or when its stdin is closed with --tied.
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { testAuthority } from '../certificates.ts';
import { isRedfishFault, REDFISH_FAULTS } from './redfish-fault.ts';
import { RedfishSimulator } from './simulator.ts';
import { VENDOR_NAMES, type VendorName } from './vendor-shape.ts';

const HELP = `A simulated BMC with Redfish. The first line on stdout is JSON: url, user, password, ca_file.

  --vendor NAME          ${VENDOR_NAMES.join(', ')}
  --port N               of 127.0.0.1; any free one without it
  --user NAME, --password TEXT
  --settle-ms N          how long power takes to change
  --session-seconds N    how long a session lasts without a request
  --raid                 its drives are behind a RAID controller, which makes volumes and erases
  --plaintext            http instead of https
  --tied                 ends when its stdin is closed

A line on its stdin is a fault, an empty one ends it, and ? prints the requests so far, the power, the boots and the virtual drive:

${Object.entries(REDFISH_FAULTS)
  .map(([name, what]) => `  ${name.padEnd(22)} ${what}`)
  .join('\n')}`;

const { values } = parseArgs({
  options: {
    vendor: { type: 'string', default: 'standard' },
    port: { type: 'string', default: '0' },
    user: { type: 'string', default: 'root' },
    password: { type: 'string' },
    'settle-ms': { type: 'string', default: '1000' },
    'session-seconds': { type: 'string', default: '1800' },
    help: { type: 'boolean', default: false },
    raid: { type: 'boolean', default: false },
    plaintext: { type: 'boolean', default: false },
    tied: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
if (!VENDOR_NAMES.includes(values.vendor as VendorName)) {
  console.error(`no such vendor; there are ${VENDOR_NAMES.join(', ')}`);
  process.exit(64);
}
const authority = testAuthority();
const bmc = await RedfishSimulator.start({
  vendor: values.vendor as VendorName,
  port: Number(values.port),
  user: values.user,
  settleMs: Number(values['settle-ms']),
  sessionMs: Number(values['session-seconds']) * 1000,
  tls: values.plaintext
    ? null
    : authority.issue({ name: 'bmc', names: ['127.0.0.1', 'localhost'], purpose: 'server' }),
  ...(values.password === undefined ? {} : { password: values.password }),
});
if (values.raid) {
  bmc.hardware.drives = [];
  bmc.storage.hasController = true;
}
console.log(
  JSON.stringify({ url: bmc.url, user: bmc.user, password: bmc.password, ca_file: authority.caFile }),
);

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const word = line.trim();
  if (word === '?')
    console.log(
      JSON.stringify({
        requests: bmc.requests,
        power: bmc.system.power,
        boots: bmc.system.boots,
        media: bmc.media,
      }),
    );
  else if (word === '' || isRedfishFault(word)) {
    bmc.fault = word === '' ? null : word;
    console.log(JSON.stringify({ fault: bmc.fault }));
  } else console.error(`no such fault; there are ${Object.keys(REDFISH_FAULTS).join(', ')}`);
});

const end = () =>
  void bmc.stop().then(() => {
    authority.remove();
    process.exit(0);
  });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
if (values.tied) lines.once('close', end);
