import { describe, expect, it } from 'vitest';
import type { KnownLog } from '../../../domain/hardware/hardware-log.ts';
import type { Bmc } from './bmcs.ts';
import { readIpmiSensors } from './ipmi-sensors.ts';

/** As ipmitool 1.8.19 prints it with -c: limits that are not set are 0. */
const SDR = `CPU1 Temp,96,degrees C,cr,3.1,Processor,Temperature,40.000,11.000,69.000,0.000,95.000,85.000,0.000,0.000,0.000,unspecified,unspecified
FAN1,5700,RPM,ok,29.1,Fan Device,Fan,4500.000,0.000,0.000,0.000,0.000,0.000,0.000,300.000,500.000,0.000,25500.000
FAN1,5800,RPM,nc,29.2,Fan Device,Fan,4500.000,0.000,0.000,0.000,0.000,0.000,0.000,300.000,500.000,0.000,25500.000
FAN3,,,ns,29.3,Fan Device,Fan,Disabled
12V,12.06,Volts,ok,7.1,System Board,Voltage,12.000,0.000,0.000,0.000,13.200,0.000,0.000,10.800,0.000,0.000,0.000
Pwr,213,Watts,ok,7.1,System Board,Current,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000,0.000
Chassis Intru,0x00,,ok,23.1,System Chassis,Physical Security,0x0000

SDR record read failed`;

const INFO = `SEL Information
Version          : 1.5 (v1.5, v2 compliant)
Entries          : 9
Last Add Time    : 11/18/2026 03:34:53 UTC
Last Del Time    : Not Available`;

const SEL = `1,Pre-Init,0000000012,System Event #0x83,OEM System boot event,Asserted
2,11/18/26,03:34:53 UTC,Memory #0x53,Correctable ECC,Asserted
3,11/18/2026,03:35:00,Memory #0x53,Uncorrectable ECC,Asserted
4,11/18/26,03:36:00 UTC,Temperature #0x30,Upper Non-critical going high,Asserted
5,11/18/26,03:37:00 UTC,Temperature #0x30,Upper Critical going high,Asserted
6,11/18/26,03:38:00 UTC,Temperature #0x30,Upper Critical going high,Deasserted
7,11/18/26,03:39:00 UTC,Drive Slot #0x81,Predictive Failure,Asserted
8,11/18/26,03:40:00 UTC,Power Supply #0xc8,Power Supply AC lost,Asserted
a,11/18/26,25:99:00 UTC,Drive Slot #0x81,Drive Present,Asserted
no entry at all`;

const NOTHING_KNOWN: KnownLog = { fingerprint: '', count: 0, newest: '' };

function bmcWith(texts: Readonly<Record<string, string>>): Bmc & { readonly asked: string[] } {
  const asked: string[] = [];
  const ask = async (...command: string[]) => {
    asked.push(command.join(' '));
    return texts[command.join(' ')] ?? '';
  };
  return { where: 'bmc', asked, ask, askBriefly: ask } as unknown as Bmc & { readonly asked: string[] };
}

const TEXTS = {
  '-c sdr elist full': SDR,
  'sel info': INFO,
  '-c sel list last 200': SEL,
};

describe('the sensors of a BMC over IPMI', () => {
  it('have value, unit, health and those limits that are set; two of one name get different ones', async () => {
    const { sensors } = await readIpmiSensors(bmcWith(TEXTS), NOTHING_KNOWN);
    expect(sensors).toEqual([
      {
        name: 'CPU1 Temp',
        kind: 'temperature',
        unit: '°C',
        value: 96,
        health: 'Critical',
        high_warning: 85,
        high_critical: 95,
      },
      {
        name: 'FAN1',
        kind: 'fan',
        unit: 'RPM',
        value: 5700,
        health: 'OK',
        low_critical: 300,
        low_warning: 500,
      },
      {
        name: 'FAN1 (2)',
        kind: 'fan',
        unit: 'RPM',
        value: 5800,
        health: 'Warning',
        low_critical: 300,
        low_warning: 500,
      },
      // It reads nothing, and is no fan at 0 RPM.
      { name: 'FAN3', kind: 'fan', unit: '' },
      {
        name: '12V',
        kind: 'voltage',
        unit: 'V',
        value: 12.06,
        health: 'OK',
        low_critical: 10.8,
        high_critical: 13.2,
      },
      { name: 'Pwr', kind: 'power', unit: 'W', value: 213, health: 'OK' },
      { name: 'Chassis Intru', kind: 'other', unit: '', value: 0, health: 'OK' },
    ]);
  });

  it('are the health of the parts that they measure: the worst of each', async () => {
    const { components } = await readIpmiSensors(bmcWith(TEXTS), NOTHING_KNOWN);
    expect(components).toEqual([
      { component: 'temperatures', health: 'Critical' },
      { component: 'fans', health: 'Warning' },
      { component: 'voltages', health: 'OK' },
      { component: 'power', health: 'OK' },
    ]);
  });
});

describe('the log of a BMC over IPMI', () => {
  it('has entries with time, severity by their words, and those without a clock by their seconds', async () => {
    const { log } = await readIpmiSensors(bmcWith(TEXTS), NOTHING_KNOWN);
    if (log?.state !== 'read') throw new Error('it was not read');
    expect(
      log.entries.map(({ id, at, severity, message }) => [id, at?.toISOString(), severity, message]),
    ).toEqual([
      ['1+0000000012', undefined, 'OK', 'System Event #0x83: OEM System boot event'],
      ['2', '2026-11-18T03:34:53.000Z', 'Warning', 'Memory #0x53: Correctable ECC'],
      ['3', '2026-11-18T03:35:00.000Z', 'Critical', 'Memory #0x53: Uncorrectable ECC'],
      ['4', '2026-11-18T03:36:00.000Z', 'Warning', 'Temperature #0x30: Upper Non-critical going high'],
      ['5', '2026-11-18T03:37:00.000Z', 'Critical', 'Temperature #0x30: Upper Critical going high'],
      ['6', '2026-11-18T03:38:00.000Z', 'OK', 'Temperature #0x30: Upper Critical going high, Deasserted'],
      ['7', '2026-11-18T03:39:00.000Z', 'Warning', 'Drive Slot #0x81: Predictive Failure'],
      ['8', '2026-11-18T03:40:00.000Z', 'Critical', 'Power Supply #0xc8: Power Supply AC lost'],
      // A time that no clock has is none.
      ['a+25:99:00 UTC', undefined, 'OK', 'Drive Slot #0x81: Drive Present'],
    ]);
    expect([log.count, log.isComplete]).toEqual([9, true]);
  });

  it('is not read where its counters are as they were, or say that it is empty', async () => {
    const first = await readIpmiSensors(bmcWith(TEXTS), NOTHING_KNOWN);
    const bmc = bmcWith(TEXTS);
    const again = await readIpmiSensors(bmc, { ...NOTHING_KNOWN, fingerprint: first.log?.fingerprint ?? '' });
    expect(again.log?.state).toBe('unchanged');
    const empty = bmcWith({ ...TEXTS, 'sel info': 'Entries          : 0' });
    expect((await readIpmiSensors(empty, NOTHING_KNOWN)).log).toMatchObject({ state: 'read', entries: [] });
    for (const { asked } of [bmc, empty]) expect(asked).not.toContain('-c sel list last 200');
  });
});
