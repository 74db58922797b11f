// @module-tag extended: agent/ingot-agent.test.ts has the command that writes it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AgentSettingError, type SettingSources } from '../agent-settings.ts';
import { systemdUnit } from './systemd-unit.ts';

const needed = { server: 'https://ingot.example.com', machineId: '1165a9b6', pool: 'gpu' };
const command = ['/usr/bin/node', '/usr/local/lib/ingot-agent.mjs'];
const unit = (options: SettingSources['options'] = {}, env: SettingSources['env'] = {}, words = command) =>
  systemdUnit({ sources: { options: { ...needed, ...options }, env, cwd: '/' }, command: words });

/** Everything that systemd would act on, without the values. */
const directives = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(/=.*/, ''));

describe('the systemd unit', () => {
  it('runs the agent permanently, as a dynamic user, with the settings in its environment', () => {
    const text = unit({ interval: '30' }, { INGOT_AGENT_PROVIDER: 'rack' });
    expect(text).toContain(
      `ExecStart="/usr/bin/node" "/usr/local/lib/ingot-agent.mjs" "--token-file" "\${CREDENTIALS_DIRECTORY}/machine-token"\n`,
    );
    for (const line of [
      'Restart=always',
      'DynamicUser=yes',
      'NoNewPrivileges=yes',
      'LoadCredential=machine-token:/etc/ingot/machine-token',
      'Environment="INGOT_AGENT_SERVER=https://ingot.example.com"',
      'Environment="INGOT_MACHINE_ID=1165a9b6"',
      'Environment="INGOT_POOL=gpu"',
      'Environment="INGOT_AGENT_PROVIDER=rack"',
      'Environment="INGOT_AGENT_INTERVAL=30"',
    ])
      expect(text.split('\n')).toContain(line);
    expect(text).not.toContain('INGOT_AGENT_TIMEOUT');
  });

  it('holds no token, from wherever there is one', () => {
    expect(unit({}, { INGOT_MACHINE_TOKEN: 'very-secret' })).not.toContain('very-secret');
    expect(() => unit({ token: 'very-secret' })).toThrow(/^--token: (?!.*very-secret)/);
  });

  it('names the file of the token that was asked for', () => {
    expect(unit({ tokenFile: '/srv/a%b/token' })).toContain('LoadCredential=machine-token:/srv/a%%b/token\n');
    for (const tokenFile of ['token', '/a b', '/a\nExecStartPre=/bin/sh', '/a:b', '/a"', ''])
      expect(() => unit({ tokenFile })).toThrow(/^--token-file: must be an absolute path/);
  });

  it('escapes what systemd would read as more than text', () => {
    const text = unit({ server: 'https://x/%n/"\\y' }, {}, ['/opt/100% node/"n"', '/opt/in\\got.mjs']);
    expect(text).toContain('Environment="INGOT_AGENT_SERVER=https://x/%%n/\\"\\\\y"\n');
    expect(text).toContain('ExecStart="/opt/100%% node/\\"n\\"" "/opt/in\\\\got.mjs" ');
    expect(() => unit({}, {}, ['/opt/$HOME/node'])).toThrow(AgentSettingError);
    expect(() => unit({}, {}, ['/opt/a\nb'])).toThrow(AgentSettingError);
  });

  it('warns where the service could not see its own program', () => {
    expect(unit({}, {}, ['/usr/bin/node', '/home/me/ingot-agent.mjs'])).toContain('# CAUTION');
    expect(unit()).not.toContain('# CAUTION');
  });

  it('has the same directives whatever the values are', () => {
    const usual = directives(unit({ privateIp: '10.0.0.1' }));
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({
        unit: fc.constantFrom('\n', '\r', '"', '\\', '%', '$', '#', ' ', '=', ';', 'a', '\u2028'),
      }),
    );
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, hostile, (path, machineId, pool, privateIp, word) => {
        for (const options of [
          { server: `https://x/${path}` },
          { server: path },
          { machineId },
          { pool },
          { privateIp },
        ]) {
          try {
            expect(
              directives(unit({ privateIp: '10.0.0.1', ...options }, {}, ['/usr/bin/node', word])),
            ).toEqual(usual);
          } catch (error) {
            if (!(error instanceof AgentSettingError)) throw error;
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
