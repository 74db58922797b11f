/** A server with machines whose BMCs are simulated, and answer over Redfish. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { datacenterConfiguration } from '../../src/providers/datacenter/datacenter-configuration.ts';
import { unusedKey } from '../datacenter/bmc-site.ts';
import type { TestAuthority } from '../parts/certificates.ts';
import { RedfishSimulator } from '../parts/redfish/simulator.ts';
import type { VendorName } from '../parts/redfish/vendor-shape.ts';
import { startTestServer, type TestServer, type TestServerOptions } from '../parts/server.ts';

const PASSWORD = 'correct-horse-battery-staple';

export interface RedfishSite {
  readonly server: TestServer;
  /** It is stopped with the site, unless the test stops it before. */
  startBmc(vendor?: VendorName): Promise<RedfishSimulator>;
  stop(): Promise<void>;
}

/** Its provider is `dc`. The BMCs answer without TLS, or with a certificate of this authority. */
export async function startRedfishSite(
  authority: TestAuthority | null,
  options: TestServerOptions = {},
): Promise<RedfishSite> {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-redfish-site-'));
  const key = unusedKey();
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  const dc = datacenterConfiguration.parse({
    kind: 'datacenter',
    ssh: { user: 'root', private_key_file: key.file, insecure_accept_any: true },
    bmc: {
      user: 'root',
      password_file: passwordFile,
      timeout_seconds: 5,
      redfish: authority === null ? { plaintext: 'allowed' } : { ca_file: authority.caFile },
    },
  });
  const tls = authority?.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' }) ?? null;
  const server = await startTestServer({ ...options, providers: { dc } });
  const bmcs: RedfishSimulator[] = [];
  return {
    server,
    async startBmc(vendor = 'standard') {
      const bmc = await RedfishSimulator.start({ vendor, tls, password: PASSWORD });
      bmcs.push(bmc);
      return bmc;
    },
    async stop() {
      await server.stop();
      for (const bmc of bmcs) await bmc.stop();
      rmSync(folder, { recursive: true });
      key.remove();
    },
  };
}
