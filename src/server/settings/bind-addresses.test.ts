import { describe, expect, it } from 'vitest';
import { bindAddresses, type Transport } from './bind-addresses.ts';
import { type FlagValues, readSettings, SettingError } from './settings.ts';

async function hosts(flags: FlagValues, transport: Transport = 'plaintext'): Promise<string[]> {
  const { httpAddress, grpcAddress } = await bindAddresses(readSettings({}, flags, '/srv'), transport);
  return [httpAddress.host, grpcAddress.host];
}

describe('an address without a host', () => {
  const flags = { httpAddress: ':8080', grpcAddress: ':50051' };

  it('is loopback without TLS', async () => {
    expect(await hosts(flags)).toEqual(['127.0.0.1', '127.0.0.1']);
  });

  it('is every interface with TLS, and for an operator who asks for plaintext', async () => {
    expect(await hosts(flags, 'tls')).toEqual(['0.0.0.0', '0.0.0.0']);
    expect(await hosts({ ...flags, insecurePlaintext: 'true' })).toEqual(['0.0.0.0', '0.0.0.0']);
  });
});

describe('without TLS', () => {
  it.each(['127.0.0.1:1', '127.9.8.7:1', '[::1]:1', '[::ffff:127.0.0.1]:1', 'localhost:1'])(
    '%s is bound to',
    async (httpAddress) => {
      await expect(hosts({ httpAddress })).resolves.toBeDefined();
    },
  );

  it.each([
    '0.0.0.0:1',
    '[::]:1',
    '192.0.2.7:1',
    '[2001:db8::1]:1',
    '[::ffff:192.0.2.7]:1',
    'no-such-host.invalid:1',
  ])('%s is refused, on both ports', async (address) => {
    await expect(hosts({ httpAddress: address })).rejects.toThrow(SettingError);
    await expect(hosts({ grpcAddress: address })).rejects.toThrow(/^INGOT_GRPC_ADDR: .* is not a loopback/);
  });

  it('a refusal names the ways out', async () => {
    await expect(hosts({ httpAddress: '[::]:8080' })).rejects.toThrow(
      'INGOT_HTTP_ADDR: [::]:8080 is not a loopback address, and without TLS the server listens on this machine only; configure tls.cert_file and tls.key_file (ingot tls init makes them for a try), or use 127.0.0.1:8080 behind a proxy that has TLS, or give --insecure-plaintext to send tokens unencrypted',
    );
  });

  it('any address is bound to for an operator who asks for it', async () => {
    expect(await hosts({ httpAddress: '192.0.2.7:1', insecurePlaintext: 'true' })).toEqual([
      '192.0.2.7',
      '127.0.0.1',
    ]);
  });
});

it('with TLS, any address is bound to', async () => {
  expect(await hosts({ httpAddress: '192.0.2.7:1', grpcAddress: '[::]:1' }, 'tls')).toEqual([
    '192.0.2.7',
    '::',
  ]);
});
