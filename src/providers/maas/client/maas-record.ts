/** What MAAS keeps about a machine besides its state, and about itself: the user of our key, and its settings. */
import { z } from 'zod';
import type { ProviderCall } from '../../provider.ts';
import { machineAnswer, shaped, viewOfMachine } from './maas-answers.ts';
import type { MaasApi, Parameters } from './maas-api.ts';
import type { MaasChanges, MaasMachine, MaasReadCall, MaasUser, MaasWipe } from './maas-control.ts';
import { MaasFailure } from './maas-failure.ts';

export interface MaasRecordOptions {
  readonly name: string;
  readonly api: MaasApi;
  readonly now: () => number;
}

const userAnswer = z.object({ username: z.string().min(1), is_superuser: z.boolean().nullish() });
const settingAnswer = z.boolean().nullable();
const parameter = z.object({ value: z.boolean().nullish() }).nullish();
const runsAnswer = z.array(
  z.object({
    id: z.int(),
    results: z.array(
      z.object({
        name: z.string(),
        parameters: z.object({ secure_erase: parameter, quick_erase: parameter }).nullish(),
      }),
    ),
  }),
);

const WIPE_SCRIPT = 'wipe-disks';

export class MaasRecord {
  readonly #options: MaasRecordOptions;
  /** Of the key that it was asked with. */
  #user: { readonly key: string; readonly user: MaasUser } | null = null;

  constructor(options: MaasRecordOptions) {
    this.#options = options;
  }

  async whoAmI(call: MaasReadCall): Promise<MaasUser | null> {
    const key = this.#options.api.keyId();
    if (this.#user?.key === key) return this.#user.user;
    const user = await this.#unlessUnknown(() => this.#readUser(call));
    // A server that has no such call may be replaced by a real MAAS: that is not remembered.
    this.#user = user && { key, user };
    return user;
  }

  async #readUser(call: MaasReadCall): Promise<MaasUser> {
    const doing = 'asking who we are';
    const query: Parameters = [['op', 'whoami']];
    const answer = await this.#options.api.read(call, { doing, path: 'users/', query });
    const { username, is_superuser: isAdmin } = this.#shaped(userAnswer, answer, doing);
    return { username, isAdmin: isAdmin ?? false };
  }

  /** What is not named stays as it is. */
  async change(
    call: ProviderCall,
    path: string,
    { systemId, changes }: { systemId: string; changes: MaasChanges },
  ): Promise<MaasMachine> {
    const { power, place, minHweKernel } = changes;
    const parameters = Object.entries(power?.powerParameters ?? {});
    const doing = `changing ${systemId}`;
    const form: Parameters = [
      ...(power ? [['power_type', power.powerType] as const] : []),
      ...parameters.map(([name, value]) => [`power_parameters_${name}`, value] as const),
      ...placeForm(place ?? {}),
      ...(minHweKernel ? [['min_hwe_kernel', minHweKernel] as const] : []),
    ];
    const secrets = parameters.map(([, value]) => value);
    const answer = await this.#options.api.write(call, { doing, method: 'PUT', path, form, secrets });
    return viewOfMachine(this.#shaped(machineAnswer, answer, doing), this.#options.now());
  }

  /** A tag that MAAS does not have yet is made. */
  async tag(call: ProviderCall, systemId: string, tag: string): Promise<void> {
    const add = () =>
      this.#options.api.write(call, {
        ...{
          doing: `tagging ${systemId} as ${tag}`,
          method: 'POST',
          path: `tags/${encodeURIComponent(tag)}/`,
        },
        ...{ op: 'update_nodes', form: [['add', systemId]] },
      });
    try {
      await add();
    } catch (error) {
      if (!isStatus(error, 404)) throw error;
      await this.#makeTag(call, tag);
      await add();
    }
  }

  async #makeTag(call: ProviderCall, tag: string): Promise<void> {
    try {
      const form: Parameters = [['name', tag]];
      await this.#options.api.write(call, {
        doing: `making the tag ${tag}`,
        method: 'POST',
        path: 'tags/',
        form,
      });
    } catch (error) {
      // Another operation may have made it just now: the next request shows whether it is there.
      if (!isStatus(error, 400)) throw error;
    }
  }

  async erasesAlways(call: MaasReadCall): Promise<boolean | null> {
    const doing = 'reading whether disks are erased at every release';
    const query: Parameters = [
      ['op', 'get_config'],
      ['name', 'enable_disk_erasing_on_release'],
    ];
    return this.#unlessRefused(async () => {
      const answer = await this.#options.api.read(call, { doing, path: 'maas/', query });
      return this.#shaped(settingAnswer, answer, doing);
    });
  }

  /** MAAS has kept what its script was given since 3.5; before that it says nothing. */
  async lastWipe(call: MaasReadCall, path: string, systemId: string): Promise<MaasWipe | null> {
    const doing = `reading how the disks of ${systemId} were erased`;
    const query: Parameters = [['type', 'release']];
    return this.#unlessRefused(async () => {
      const answer = await this.#options.api.read(call, { doing, path: `${path}results/`, query });
      const [newest] = this.#shaped(runsAnswer, answer, doing).sort((a, b) => b.id - a.id);
      const wipe = newest?.results.find(({ name }) => name === WIPE_SCRIPT);
      if (!newest || !wipe) return null;
      const { secure_erase: secure, quick_erase: quick } = wipe.parameters ?? {};
      return { runId: newest.id, secureErase: secure?.value ?? false, quickErase: quick?.value ?? false };
    });
  }

  /** The server may not be a MAAS of today: where it has no such call, nothing is known. */
  async #unlessUnknown<T>(read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      if (isStatus(error, 400) || isStatus(error, 404)) return null;
      throw error;
    }
  }

  async #unlessRefused<T>(read: () => Promise<T>): Promise<T | null> {
    try {
      return await this.#unlessUnknown(read);
    } catch (error) {
      if (isStatus(error, 403)) return null;
      throw error;
    }
  }

  #shaped<T>(schema: z.ZodType<T>, answer: unknown, doing: string): T {
    return shaped(schema, answer, { maas: this.#options.name, doing });
  }
}

export function placeForm(place: NonNullable<MaasChanges['place']>): Parameters {
  const named = [
    ['pool', place.pool],
    ['zone', place.zone],
    ['domain', place.domain],
  ] as const;
  return named.flatMap(([name, value]) => (value ? [[name, value] as const] : []));
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof MaasFailure && error.status === status;
}
