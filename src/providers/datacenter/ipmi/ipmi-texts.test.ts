import { describe, expect, it } from 'vitest';
import { parseIndicator, parseLogEntries, parsePowerReading, parseUserId } from './ipmi-texts.ts';

/** As ipmitool 1.8.19 prints them. */
const CHASSIS = `System Power         : on
Power Overload       : false
Chassis Identify State : Temporarily on
Front-Panel Lockout  : inactive`;
const SEL_INFO = `SEL Information
Version          : 1.5 (v1.5, v2 compliant)
Entries          : 17
Free Space       : 65535 bytes or more
Last Add Time    : 11/18/2026 03:34:53 UTC
Last Del Time    : Not Available`;
const READING = `
    Instantaneous power reading:                   213 Watts
    Minimum during sampling period:                 12 Watts
    IPMI timestamp:                           11/18/26 03:34:53 UTC    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated`;
const LIMIT = `
    Current Limit State: Power Limit Active
    Exception actions:   Hard Power Off & Log Event to SEL
    Power Limit:         450 Watts
    Correction time:     1000 milliseconds`;
const USERS = `ID  Name             Callin  Link Auth  IPMI Msg   Channel Priv Limit
1                    true    false      false      NO ACCESS
2   root             true    true       true       ADMINISTRATOR
3   site admin       true    true       true       OPERATOR
4   admin            true    true       true       ADMINISTRATOR`;

describe('what ipmitool prints', () => {
  it.each([
    [CHASSIS, 'on'],
    ['Chassis Identify State : off', 'off'],
    ['Chassis Identify State : indefinite on', 'on'],
    ['System Power         : on', 'unknown'],
    ['', 'unknown'],
  ] as const)('of the indicator', (text, expected) => {
    expect(parseIndicator(text)).toBe(expected);
  });

  it('of the entries of the log', () => {
    expect(parseLogEntries(SEL_INFO)).toBe(17);
    expect(parseLogEntries('SEL Information\nEntries          : many')).toBeNull();
  });

  it('of the power, with a limit, with one that is off, and with none', () => {
    expect(parsePowerReading(READING, LIMIT)).toMatchObject({
      watts: 213,
      limitWatts: 450,
      limitAt: 'DCMI',
    });
    const off = LIMIT.replace('Power Limit Active', 'No Active Power Limit');
    expect(parsePowerReading(READING, off)).toMatchObject({ limitWatts: null, limitAt: 'DCMI' });
    expect(parsePowerReading('DCMI request failed', null)).toMatchObject({ watts: null, limitAt: null });
  });

  it('of users, whose names may have spaces', () => {
    expect(parseUserId(USERS, 'root')).toBe(2);
    expect(parseUserId(USERS, 'site admin')).toBe(3);
    expect(parseUserId(USERS, 'admin')).toBe(4);
    expect(parseUserId(USERS, 'adm')).toBeNull();
  });
});
