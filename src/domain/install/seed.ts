/**
 * What cloud-init of the installed system reads: a NoCloud seed. User data may hold secrets: it is served to the one boot
 * that installs, and never part of a command line, a log or an event.
 */

/** The placeholders of user data, {{ingot.name}}. Their values need no quoting in YAML or a shell. */
export const SEED_PLACEHOLDERS = ['machine_id', 'hostname', 'mac', 'server_url'] as const;
export type SeedPlaceholder = (typeof SEED_PLACEHOLDERS)[number];

/** The files of the seed, by the names that cloud-init expects. */
export const SEED_FILES = ['user-data', 'meta-data', 'network-config'] as const;
export type SeedFile = (typeof SEED_FILES)[number];

const PLACEHOLDER = /\{\{\s*ingot\.([^{}]*?)\s*\}\}/g;

/** The first unknown placeholder; null: all are known. */
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
    // Another boot is another instance: cloud-init runs everything again.
    'meta-data': () =>
      `${JSON.stringify({ 'instance-id': `${values.machine_id}-${bootNo}`, 'local-hostname': values.hostname })}\n`,
  };
  return files[file]();
}
