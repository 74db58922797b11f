import { expect, it } from 'vitest';
import { ipmiFailure } from './ipmi-failure.ts';

const LAST_WORDS = 'Error: Unable to establish IPMI v2 / RMCP+ session';

/** What ipmitool 1.8.19 prints with -v. */
it.each([
  ['a wrong password', `> RAKP 2 HMAC is invalid\n${LAST_WORDS}`, 'needs_human', 'AUTHENTICATION_FAILED'],
  [
    'an unknown user',
    `RAKP 2 message indicates an error : unauthorized name\n${LAST_WORDS}`,
    'needs_human',
    'AUTHENTICATION_FAILED',
  ],
  [
    'a user who may not be administrator',
    `RAKP 2 message indicates an error : unauthorized role or privilege level requested\n${LAST_WORDS}`,
    'needs_human',
    'PRIVILEGE_REFUSED',
  ],
  [
    'a user who may not switch power',
    'Set Chassis Power Control to Up/On failed: Insufficient privilege level',
    'needs_human',
    'PRIVILEGE_REFUSED',
  ],
  [
    'a cipher suite that it has not',
    `Error in open session response message : invalid authentication algorithm\n\n${LAST_WORDS}`,
    'permanent',
    'CIPHER_SUITE_REFUSED',
  ],
  [
    'no free session',
    `Error in open session response message : insufficient resources for session\n${LAST_WORDS}`,
    'retryable',
    'BMC_BUSY',
  ],
  [
    'silence',
    `Get Auth Capabilities error\nError issuing Get Channel Authentication Capabilities request\n${LAST_WORDS}`,
    'retryable',
    'UNREACHABLE',
  ],
  [
    'silence in the middle of a session',
    'Invalid completion code received: Invalid command\nUnable to set Chassis Power Control to Up/On\nClose Session command failed',
    'retryable',
    'UNREACHABLE',
  ],
  [
    'a command that it does not carry out',
    'Set Chassis Power Control to Soft failed: Command not supported in present state',
    'retryable',
    'BMC_REFUSED',
  ],
  [
    'a raw command that it does not carry out',
    'Unable to send RAW command (channel=0x0 netfn=0x0 lun=0x0 cmd=0x8 rsp=0xcc): Invalid data field in request',
    'retryable',
    'BMC_REFUSED',
  ],
])('%s', (_what, stderr, failureClass, code) => {
  const end = {
    exitCode: 1,
    outOfTime: false,
    stdout: '',
    stderr: `Loading IANA PEN Registry...\n${stderr}\n`,
  };
  const { failure } = ipmiFailure('10.0.0.1:623', 'chassis power on', end);
  expect(failure).toMatchObject({ class: failureClass, code });
  expect(failure.message).toMatch(/^the BMC 10\.0\.0\.1:623 [^\n]+$/);
});

it('says what the BMC said', () => {
  const stderr = 'Set Chassis Power Control to Soft failed: Command not supported in present state\n';
  const end = { exitCode: 1, outOfTime: false, stdout: '', stderr };
  expect(ipmiFailure('bmc', 'chassis power soft', end).failure.message).toBe(
    'the BMC bmc refused "chassis power soft": Command not supported in present state',
  );
});
