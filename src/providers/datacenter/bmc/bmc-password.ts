/**
 * The password of a BMC, replaced on the BMC and where it is kept. The new one waits beside the old one until the BMC takes it, and
 * takes its place only after a login with it; so whatever ends the work in between, one of the two that are kept is the BMC's.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { StepFailure } from '../../../engine/step-handler.ts';
import type { BmcAdministration, PasswordState } from '../../bmc-administration.ts';
import type { ProviderCall } from '../../provider.ts';
import type { BmcLogin } from './bmc-configuration.ts';
import type { BmcLogins } from './bmc-logins.ts';
import { isLoginRefused } from './bmc-refusal.ts';

/** What a protocol does with a login. */
export interface PasswordChanges {
  /** Throws a StepFailure where the BMC does not take the login. */
  logIn(call: ProviderCall, login: BmcLogin): Promise<void>;
  change(call: ProviderCall, login: BmcLogin, password: string): Promise<void>;
}

type PasswordMethods = Pick<
  BmcAdministration,
  'rotation' | 'passwordState' | 'preparePassword' | 'changePassword' | 'promotePassword' | 'dropPassword'
>;

/** Letters and digits, which every BMC takes, and one of each kind, which many demand. 16 fit into every version of IPMI. */
const LENGTH = 16;
const KINDS = ['ABCDEFGHJKLMNPQRSTUVWXYZ', 'abcdefghijkmnopqrstuvwxyz', '23456789', '-_'] as const;

export function newPassword(): string {
  for (;;) {
    const all = KINDS.join('');
    const text = Array.from({ length: LENGTH }, () => all[randomInt(all.length)]).join('');
    const hasAll = KINDS.every((kind) => [...kind].some((letter) => text.includes(letter)));
    // Some take a dash at the start for an option.
    if (hasAll && /^[A-Za-z0-9]/.test(text)) return text;
  }
}

/**
 * A breaker leaves a BMC alone after a refused login; but which of two passwords it takes is found by trying them. How often that is done is
 * up to the step.
 */
function pastBreaker(call: ProviderCall): ProviderCall {
  return { ...call, operatorRetry: randomUUID() };
}

export function createPasswordMethods(logins: BmcLogins, changes: PasswordChanges): PasswordMethods {
  const takes = async (call: ProviderCall, login: BmcLogin) => {
    try {
      await changes.logIn(pastBreaker(call), login);
      return true;
    } catch (error) {
      if (isLoginRefused(error)) return false;
      throw error;
    }
  };
  return {
    rotation(machine) {
      try {
        return { obstacle: null, sharing: logins.rotating(machine).sharing };
      } catch (error) {
        if (!(error instanceof StepFailure)) throw error;
        return { obstacle: error.failure.message, sharing: 'own' };
      }
    },
    async passwordState(call, likely): Promise<PasswordState> {
      const { machine, signal } = call;
      const waiting = await logins.pending(machine, signal);
      if (waiting === null) return 'none';
      const kept = await logins.of(machine, signal);
      if (likely === 'new' && (await takes(call, waiting))) return 'changed';
      if (likely === 'old' && (await takes(call, kept))) return 'prepared';
      // The other one: where the BMC does not take it either, a person must know.
      await changes.logIn(pastBreaker(call), likely === 'new' ? kept : waiting);
      return likely === 'new' ? 'prepared' : 'changed';
    },
    async preparePassword(call) {
      const { machine, signal } = call;
      signal.throwIfAborted();
      call.checkHeld();
      await logins.rotating(machine).prepare(machine, newPassword(), signal);
      call.log('A new password waits beside the old one');
    },
    async changePassword(call) {
      const { machine, signal } = call;
      const waiting = await logins.pending(machine, signal);
      if (waiting === null) return;
      const kept = await logins.of(machine, signal);
      call.log(`Changing the password of ${kept.user} on the BMC`);
      await changes.change(pastBreaker(call), kept, waiting.password);
    },
    async promotePassword(call) {
      const { machine, signal } = call;
      signal.throwIfAborted();
      call.checkHeld();
      await logins.rotating(machine).promote(machine, signal);
      call.log('The new password is kept in the place of the old one');
    },
    async dropPassword(call) {
      const { machine, signal } = call;
      signal.throwIfAborted();
      call.checkHeld();
      await logins.rotating(machine).drop(machine, signal);
      call.log('The new password, which the BMC does not take, is forgotten');
    },
  };
}
