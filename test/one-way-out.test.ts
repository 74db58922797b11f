/**
 * Which files open connections. `src/connections/address-rules.ts` decides where to; a new way to connect must take its rule,
 * or have a reason here. A file that connects no more must leave the list.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../src/package-root.ts';

const MODULES =
  'node:(?:net|tls|http|https|http2|dgram|dns|dns/promises)|undici|ssh2|pg|@redis/client|@grpc/grpc-js|@kubernetes/client-node|ws';
const IMPORT = new RegExp(`^import (?!type )([^;]*?) from '(?:${MODULES})'`, 'gm');
const OTHER_WAYS = new RegExp(
  `\\bfetch\\(|\\b(?:import|require)\\('(?:${MODULES})'\\)|\\bsshLibrary\\(|\\bspawn\\(|\\bexecFile\\(`,
);

/** They serve, or parse. */
const HARMLESS = /^(?:type .*|createServer|isIP|isIPv4|isIPv6|BlockList|)$/;

function connects(text: string): boolean {
  if (OTHER_WAYS.test(text)) return true;
  return [...text.matchAll(IMPORT)].some(([, names = '']) =>
    names
      .replace(/[{}]/g, '')
      .split(',')
      .some((name) => !HARMLESS.test(name.trim())),
  );
}

/** By a rule: an address that the API or the configuration gives. */
const BY_RULE = [
  'src/clusters/cluster-api.ts',
  'src/connections/address-rules.ts',
  'src/connections/checked-downloads.ts',
  'src/connections/http-exchange.ts',
  'src/connections/tcp.ts',
  // With the agent of its caller, which is the one that http-exchange.ts gets.
  'src/connections/web-socket.ts',
  // With the agent that its caller gives it; the server's obeys the rule for configured servers.
  'src/issuers/discover-issuer.ts',
  'src/issuers/issuer-fetch.ts',
  'src/hosts/ssh-session.ts',
  'src/hosts/ssh-configuration.ts',
  'src/hosts/ssh-library.ts',
  'src/providers/datacenter/ipmi/ipmitool.ts',
  'src/providers/datacenter/serial-console/ssh-console.ts',
  'src/redfish/connection/peer-certificate.ts',
];

const root = packageRoot();
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'src'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.ts$/.test(file) && !/\.(?:test|fixture)\.ts$|^src\/gen\//.test(file))
  // Clients of the server, on hosts of their own.
  .filter((file) => !/^src\/(?:cli|agent|installer|client|netboot)\//.test(file));

/** Connections to what the administrator sets with DATABASE_URL and INGOT_PRESENCE_URL, and programs of this host. */
const OWN = [
  /^src\/store\/(?:audit|database|embedded|schema|agents\/redis-)/,
  /^src\/server\//,
  /^src\/surfaces\//,
];

it('every file that connects to an address that it is given takes a rule', () => {
  const found = files.filter((file) => connects(readFileSync(join(root, file), 'utf8')));
  expect(found.filter((file) => !OWN.some((own) => own.test(file))).sort()).toEqual([...BY_RULE].sort());
});

it('finds what connects', () => {
  for (const text of [
    "import { connect } from 'node:net';",
    "import {\n  type Socket,\n  connect,\n} from 'node:net';",
    "import http2 from 'node:http2';",
    'await fetch(url)',
    "spawn('ipmitool', [])",
    "await import('pg')",
    "require('ssh2')",
    'new (sshLibrary().Client)()',
  ])
    expect(connects(text), text).toBe(true);
  for (const text of [
    "import { createServer, type Server } from 'node:net';",
    "import type { Agent } from 'node:http';",
  ])
    expect(connects(text), text).toBe(false);
});
