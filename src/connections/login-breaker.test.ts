import { expect, it } from 'vitest';
import { LoginBreaker } from './login-breaker.ts';

const REFUSED = /refused our password.*; it is not asked again/;

function refusedOnce(): LoginBreaker {
  const breaker = new LoginBreaker({ monotonicNow: () => 0, credential: 'password', maxRefusals: 1 });
  breaker.refused('bmc-1', 'a');
  return breaker;
}

it('makes no call to a server that refused the login, unless the credential has changed', () => {
  const breaker = refusedOnce();
  expect(() => breaker.check('bmc-1', 'a')).toThrow(REFUSED);
  expect(() => breaker.check('bmc-1', 'b')).not.toThrow();
});

it('lets each retry of an operator through once', () => {
  const breaker = refusedOnce();
  for (const retry of ['op-1/work/round-1', 'op-1/work/round-2']) {
    expect(() => breaker.check('bmc-1', 'a', retry)).not.toThrow();
    breaker.refused('bmc-1', 'a');
    expect(() => breaker.check('bmc-1', 'a', retry)).toThrow(REFUSED);
  }
  expect(() => breaker.check('bmc-1', 'a')).toThrow(REFUSED);
});
