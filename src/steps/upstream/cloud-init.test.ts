import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { newHostKey } from '../../hosts/host-key.ts';
import { bringsHostKeys, renderCloudInit } from './cloud-init.ts';

const AGENT = {
  server: 'http://127.0.0.1:1',
  machineId: 'm-1',
  pool: 'gpu',
  provider: 'site-a',
  token: 'the-token',
};

it('adds to the lists that the template has, and leaves the rest of it as it is', () => {
  const hostKey = newHostKey();
  const template =
    '#cloud-config\npackages: [jq]\nssh_authorized_keys: [ssh-ed25519 AAAA site]\nwrite_files: [{path: /etc/motd, content: hi}]\n';
  const text = renderCloudInit(template, {
    agent: AGENT,
    ssh: { authorizedKey: 'ssh-ed25519 BBBB', hostKey },
  });
  expect(text.startsWith('#cloud-config\n')).toBe(true);
  expect(parse(text)).toEqual({
    packages: ['jq'],
    ssh_authorized_keys: ['ssh-ed25519 AAAA site', 'ssh-ed25519 BBBB'],
    write_files: [
      { path: '/etc/motd', content: 'hi' },
      {
        path: '/etc/ingot/agent.env',
        owner: 'root:root',
        permissions: '0600',
        content: expect.stringContaining('INGOT_MACHINE_TOKEN=the-token\n'),
      },
    ],
    ssh_keys: { ed25519_private: hostKey.privateKey, ed25519_public: hostKey.publicKey },
  });
});

it('is the template alone where there is neither an agent nor a way in', () => {
  expect(parse(renderCloudInit('packages: [jq]', { agent: null, ssh: null }))).toEqual({ packages: ['jq'] });
});

it('a template may bring host keys of its own', () => {
  expect(bringsHostKeys('ssh_keys: {ed25519_private: x}')).toBe(true);
  expect(bringsHostKeys('')).toBe(false);
});
