/** `ingot hardware sensors`, `log` and `lemons`: what they send, and what they print. */
import { describe, expect, it } from 'vitest';
import { useFakeServer } from './harness.ts';

const cli = useFakeServer();
const at = (text: string) => ({ seconds: BigInt(Date.parse(text) / 1000), nanos: 0 });
const requests = (method: string) =>
  cli.fleet.calls.filter((call) => call.method === method).map(({ request }) => request);

describe('ingot hardware sensors', () => {
  it('prints value, health and limits, and on stderr what is not well', async () => {
    cli.fleet.sensors = {
      sensors: [
        {
          name: 'CPU1 Temp',
          kind: 'temperature',
          value: 96.126,
          unit: '°C',
          health: 'Critical',
          highCritical: 95,
        },
        { name: 'FAN3\u001b[31m', kind: 'fan', unit: 'RPM', lowCritical: 300, lowWarning: 500 },
      ],
      components: [
        { component: 'temperatures', health: 'Critical' },
        { component: 'fans', health: 'OK' },
      ],
      readAt: at('2026-11-18T03:00:00Z'),
    };
    const { code, stdout, stderr } = await cli.run('hardware sensors machine-1 --kind temperature');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^SENSOR +KIND +VALUE +HEALTH +LIMITS\n/);
    expect(stdout).toMatch(/CPU1 Temp +temperature +96\.13 °C +Critical +below 95/);
    expect(stdout).toMatch(/FAN3.* +fan +- +- +above 300, 500/);
    expect(stdout).not.toContain('\u001b');
    expect(stderr).toMatch(/^temperatures is Critical\nread .* ago\n$/);
    expect(requests('listSensors')).toMatchObject([{ machineId: 'machine-1', kind: 'temperature' }]);
  });

  it('says why they are not read, or that they were not read yet', async () => {
    cli.fleet.sensors = { problem: 'the BMC does not answer', problemSince: at('2026-11-18T03:00:00Z') };
    expect((await cli.run('hardware sensors machine-1')).stderr).toMatch(
      /^not read for .*: the BMC does not answer\n$/,
    );
    cli.fleet.sensors = {};
    expect((await cli.run('hardware sensors machine-1')).stderr).toContain(
      'were not read yet; it needs a BMC',
    );
  });

  it('has their course over hours, and JSON without a word beside it', async () => {
    const points = [41, 66, 52].map((value, index) => ({ at: at(`2026-11-18T0${index}:00:00Z`), value }));
    cli.fleet.sensorSeries = [
      { name: 'CPU1 Temp', kind: 'temperature', unit: '°C', points },
      { name: 'FAN1', kind: 'fan', unit: 'RPM', points: [] },
    ];
    const { stdout } = await cli.run('hardware sensors machine-1 --hours 6 --kind temperature');
    expect(stdout).toMatch(/CPU1 Temp +3 +41 °C +66 °C +52 °C\n$/);
    expect(requests('getSensorHistory')).toMatchObject([{ machineId: 'machine-1', hours: 6 }]);
    cli.fleet.sensors = { sensors: [{ name: 'FAN1', kind: 'fan', value: 5700, unit: 'RPM' }] };
    const json = await cli.run('hardware sensors machine-1 -o json');
    expect(JSON.parse(json.stdout)).toMatchObject([{ name: 'FAN1', value: 5700 }]);
    expect(json.stderr).toBe('');
  });

  it('refuses a kind that there is not', async () => {
    const { code, stderr } = await cli.run('hardware sensors machine-1 --kind smell');
    expect([code, stderr]).toEqual([64, expect.stringContaining('temperature')]);
  });
});

describe('ingot hardware log', () => {
  it('lists entries of a machine or of all, from a severity on', async () => {
    cli.fleet.hardwareLog = [
      {
        machineId: 'machine-1',
        entryId: '7',
        at: at('2026-11-18T03:34:53Z'),
        foundAt: at('2026-11-18T03:35:00Z'),
        severity: 'Critical',
        category: 'memory_uncorrectable',
        message: 'Uncorrectable ECC error on DIMM A3',
      },
      // Without a clock, the time at which it was found counts.
      {
        machineId: 'machine-2',
        entryId: '1',
        foundAt: at('2026-11-18T01:00:00Z'),
        severity: 'OK',
        message: 'x',
      },
    ];
    const { stdout } = await cli.run('hardware log --severity Warning');
    expect(stdout).toMatch(
      /2026-11-18.03:34:53\S* +machine-1 +Critical +Uncorrectable ECC error on DIMM A3\n/,
    );
    expect(stdout).toMatch(/2026-11-18.01:00:00\S* +machine-2 +OK +x\n/);
    expect(requests('listHardwareLog')).toMatchObject([{ machineId: '', severity: 'Warning' }]);
    expect((await cli.run('hardware log machine-1 -o wide')).stdout).toContain('memory_uncorrectable');
    expect((await cli.run('hardware log machine-1 -o name')).stdout).toBe('machine-1/7\nmachine-2/1\n');
    cli.fleet.hardwareLog = [];
    const none = await cli.run('hardware log machine-1');
    expect([none.stdout, none.stderr]).toEqual(['', expect.stringContaining('there are no entries')]);
  });
});

describe('ingot hardware lemons', () => {
  it('lists the worst first with the reasons, by a filter', async () => {
    cli.fleet.lemons = [
      {
        machineId: 'machine-1',
        score: 28,
        reasons: ['1 uncorrectable memory error (20 points)', '1 unexpected reboot (8 points)'],
      },
    ];
    const { stdout } = await cli.run('hardware lemons --filter hardware.lemon_score>=20');
    expect(stdout).toMatch(
      /machine-1 +28 +1 uncorrectable memory error \(20 points\); 1 unexpected reboot \(8 points\)\n/,
    );
    expect(requests('listLemons')).toMatchObject([{ filter: 'hardware.lemon_score>=20' }]);
    cli.fleet.lemons = [];
    const none = await cli.run('hardware lemons');
    expect([none.stdout, none.stderr]).toEqual(['', 'no machine was in trouble in the last 90 days\n']);
  });
});
