/** The login for a machine's BMC, looked up when it is used: the provider's own, or one of a source of credentials. */
import { CredentialProblem } from '../../../connections/credential-reference.ts';
import { rotatingPasswordFile, type SourceOfMachine } from '../../../connections/credential-source.ts';
import type { RotatingSecret } from '../../../connections/rotating-secret.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { StepFailure } from '../../../engine/step-handler.ts';
import { type BmcConfiguration, type BmcLogin, bmcLogin, readBmcLogin } from './bmc-configuration.ts';

export class BmcLogins {
  readonly #configuration: BmcConfiguration;
  readonly #credentials: SourceOfMachine;

  constructor(configuration: BmcConfiguration, credentials: SourceOfMachine) {
    this.#configuration = configuration;
    this.#credentials = credentials;
  }

  async of(machine: Machine, signal: AbortSignal): Promise<BmcLogin> {
    const source = this.#credentials(machine);
    if (!source) return readable(() => readBmcLogin(this.#configuration));
    const { name, user, password } = await source.read(machine, signal);
    return readable(() => bmcLogin(user ?? this.#configuration.user, password ?? '', name));
  }

  /** Where the password of the machine's BMC is replaced. Throws a StepFailure where it can't be. */
  rotating(machine: Machine): RotatingSecret {
    const source = this.#credentials(machine);
    const { password_file: file, password_env: variable } = this.#configuration;
    if (source?.rotating) return source.rotating;
    if (!source && file !== undefined) return rotatingPasswordFile(file);
    const where = source ? 'a source of kind env' : `the environment variable ${variable}`;
    const message = `the password of the BMC of ${machine.machineId} is kept in ${where}, which Ingot can not replace`;
    throw new StepFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message });
  }

  /** The login with the new password that waits; null: none waits. */
  async pending(machine: Machine, signal: AbortSignal): Promise<BmcLogin | null> {
    const waiting = await this.rotating(machine).pending(machine, signal);
    if (waiting === null) return null;
    return readable(() =>
      bmcLogin(waiting.user ?? this.#configuration.user, waiting.password ?? '', waiting.name),
    );
  }

  /** Throws a StepFailure where it is known, without asking a source, that there is none. */
  check(machine: Machine): void {
    if (!this.#credentials(machine)) readable(() => readBmcLogin(this.#configuration));
  }
}

export function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CredentialProblem)) throw error;
    throw new StepFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message: error.message });
  }
}
