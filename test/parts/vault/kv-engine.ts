/** A KV secrets engine of version 2: every write makes a version; a deleted one can be brought back, a destroyed one can not. */
export type SecretData = Readonly<Record<string, unknown>>;

interface Version {
  data: SecretData | null;
  readonly createdAt: string;
  deletedAt: string;
  destroyed: boolean;
}

interface VersionFacts {
  readonly version: number;
  readonly created_time: string;
  readonly deletion_time: string;
  readonly destroyed: boolean;
  readonly custom_metadata: null;
}

export interface ReadSecret {
  /** Null: this version was deleted or destroyed. Its facts are answered all the same. */
  readonly data: SecretData | null;
  readonly metadata: VersionFacts;
}

export class CasMismatch extends Error {}

const MAX_VERSIONS = 10;

export class KvEngine {
  readonly #secrets = new Map<string, Version[]>();

  read(path: string, version = 0): ReadSecret | null {
    const versions = this.#secrets.get(path);
    const number = version > 0 ? version : (versions?.length ?? 0);
    const found = versions?.[number - 1];
    if (!found) return null;
    const isGone = found.deletedAt !== '' || found.destroyed;
    return { data: isGone ? null : found.data, metadata: factsOf(found, number) };
  }

  /** `cas` must be the current version, where it is given; 0: there is none yet. */
  write(path: string, data: SecretData, cas: number | null = null): VersionFacts {
    const versions = this.#secrets.get(path) ?? [];
    if (cas !== null && cas !== versions.length) throw new CasMismatch();
    const version = { data, createdAt: new Date().toISOString(), deletedAt: '', destroyed: false };
    versions.push(version);
    this.#secrets.set(path, versions);
    const old = versions[versions.length - MAX_VERSIONS - 1];
    if (old) destroy(old);
    return factsOf(version, versions.length);
  }

  delete(path: string, numbers: readonly number[] | null = null): void {
    for (const version of this.#chosen(path, numbers)) version.deletedAt ||= new Date().toISOString();
  }

  undelete(path: string, numbers: readonly number[]): void {
    for (const version of this.#chosen(path, numbers)) if (!version.destroyed) version.deletedAt = '';
  }

  destroy(path: string, numbers: readonly number[]): void {
    for (const version of this.#chosen(path, numbers)) destroy(version);
  }

  metadata(path: string): Readonly<Record<string, unknown>> | null {
    const versions = this.#secrets.get(path);
    if (!versions) return null;
    return {
      current_version: versions.length,
      max_versions: 0,
      cas_required: false,
      delete_version_after: '0s',
      custom_metadata: null,
      versions: Object.fromEntries(
        versions.map(({ createdAt, deletedAt, destroyed }, index) => [
          String(index + 1),
          { created_time: createdAt, deletion_time: deletedAt, destroyed },
        ]),
      ),
    };
  }

  /** All versions and everything known of them. */
  forget(path: string): void {
    this.#secrets.delete(path);
  }

  /** The names directly below a path; those of folders end with a slash. */
  list(path: string): string[] {
    const below = path === '' ? '' : `${path.replace(/\/$/, '')}/`;
    const names = [...this.#secrets.keys()]
      .filter((key) => key.startsWith(below))
      .map((key) => key.slice(below.length).replace(/\/.*$/, '/'));
    return [...new Set(names)].toSorted();
  }

  #chosen(path: string, numbers: readonly number[] | null): Version[] {
    const versions = this.#secrets.get(path) ?? [];
    if (numbers === null) return versions.slice(-1);
    return numbers.flatMap((number) => versions[number - 1] ?? []);
  }
}

function destroy(version: Version): void {
  version.data = null;
  version.destroyed = true;
}

function factsOf(version: Version, number: number): VersionFacts {
  return {
    version: number,
    created_time: version.createdAt,
    deletion_time: version.deletedAt,
    destroyed: version.destroyed,
    custom_metadata: null,
  };
}
