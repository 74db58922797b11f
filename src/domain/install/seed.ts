/**
 * What cloud-init of the installed system reads: a NoCloud seed. User data may hold secrets: it is served to the one boot
 * that installs, and never part of a command line, a log or an event.
 */

/** What may stand in user data as {{ingot.name}}. Each is of characters that YAML and a shell take as they are. */
export const SEED_PLACEHOLDERS = ['machine_id', 'hostname', 'mac', 'server_url'] as const;
export type SeedPlaceholder = (typeof SEED_PLACEHOLDERS)[number];

/** Files of the seed by the names that cloud-init knows. */
export const SEED_FILES = ['user-data', 'meta-data', 'network-config'] as const;
export type SeedFile = (typeof SEED_FILES)[number];

const PLACEHOLDER = /\{\{\s*ingot\.([^{}]*?)\s*\}\}/g;

/** The first that there is not; null when there are all. */
export function unknownSeedPlaceholder(text: string): string | null {
  for (const [whole, name] of text.matchAll(PLACEHOLDER)) {
    if (!(SEED_PLACEHOLDERS as readonly string[]).includes(name ?? '')) return whole;
  }
  return null;
}

export interface SeedOrigin {
  readonly userData: string;
  readonly networkConfig: string;
  readonly bootNo: number;
  readonly values: Readonly<Record<SeedPlaceholder, string>>;
}

/** Null: this seed has no such file. */
export function seedFile(
  file: SeedFile,
  { userData, networkConfig, bootNo, values }: SeedOrigin,
): string | null {
  const filled = (text: string) => text.replace(PLACEHOLDER, (_whole, name: SeedPlaceholder) => values[name]);
  const files: Readonly<Record<SeedFile, () => string | null>> = {
    'user-data': () => filled(userData),
    'network-config': () => (networkConfig === '' ? null : filled(networkConfig)),
    // Another boot installs another instance: cloud-init does all its work again.
    'meta-data': () =>
      `${JSON.stringify({ 'instance-id': `${values.machine_id}-${bootNo}`, 'local-hostname': values.hostname })}\n`,
  };
  return files[file]();
}
