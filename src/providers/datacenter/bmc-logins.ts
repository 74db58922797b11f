/** The login for a machine's BMC, looked up when it is used: the provider's own, or one of a source of credentials. */
import { CredentialProblem } from '../../connections/credential-reference.ts';
import type { SourceOfMachine } from '../../connections/credential-source.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
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
