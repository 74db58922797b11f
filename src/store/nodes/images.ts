/** Images and install profiles: what is installed, and how. The bytes of images are files (image-files.ts). */
import type { Acting } from '../../domain/access/caller.ts';
import type { Scope } from '../../domain/access/scope.ts';
import { type Actor, actorLabel } from '../../domain/actor.ts';
import type { ImageFormat } from '../../domain/install/image-format.ts';
import { type InstallProfile, PROFILE_DEFAULTS } from '../../domain/install/install-profile.ts';
import type { Database, Session } from '../database/database.ts';
import { recordChange } from '../events/record-change.ts';
import { preparedAs, readableIn } from '../filter/scope-condition.ts';
import { checkOwned, type OwnedRow, termsOf } from '../owned-records.ts';

export interface Image {
  readonly name: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Null: stored by a version that did not recognise formats. */
  readonly format: ImageFormat | null;
  /** The size of the disk in the image; null: only unpacking would tell. */
  readonly virtualBytes: number | null;
  readonly createdBy: string;
  readonly createdAt: Date;
  /** What the scope that it belongs to is an AND of; none: it is shared. */
  readonly scopeTerms: readonly string[];
}

interface ImageRow extends OwnedRow {
  image_name: string;
  sha256: string;
  size_bytes: number;
  format: ImageFormat | '';
  virtual_bytes: number | null;
  created_by: string;
  created_at: Date;
}

const IMAGE_COLUMNS =
  'image_name, sha256, size_bytes, format, virtual_bytes, created_by, created_at, scope_terms';

function imageOf(row: ImageRow): Image {
  return {
    name: row.image_name,
    sha256: row.sha256,
    sizeBytes: row.size_bytes,
    format: row.format === '' ? null : row.format,
    virtualBytes: row.virtual_bytes,
    createdBy: row.created_by,
    createdAt: row.created_at,
    scopeTerms: row.scope_terms,
  };
}

export type NewImage = Omit<Image, 'createdBy' | 'createdAt' | 'format'> & { readonly format: ImageFormat };

export interface StoredImage {
  readonly image: Image;
  /** The one of the same name that it replaced. */
  readonly before: Image | null;
}

/** Replaces one of the same name. */
export async function storeImage(database: Database, image: NewImage, actor: Actor): Promise<StoredImage> {
  return database.transaction(async (session) => {
    const before = await findImage(session, image.name, null);
    const stored = await writeImage(session, image, actor);
    const to = before ? 'replaced' : 'created';
    await recordChange(session, { kind: 'image', subject: image.name, to, actor, before, after: stored });
    return { image: stored, before };
  });
}

async function writeImage(session: Session, image: NewImage, actor: Actor): Promise<Image> {
  const [row] = await session.run<ImageRow & Record<string, unknown>>(
    'store-image',
    `INSERT INTO images (image_name, sha256, size_bytes, format, virtual_bytes, created_by, scope_terms)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (image_name) DO UPDATE SET sha256 = excluded.sha256, size_bytes = excluded.size_bytes,
       format = excluded.format, virtual_bytes = excluded.virtual_bytes, created_by = excluded.created_by, created_at = now(),
       scope_terms = CASE WHEN excluded.scope_terms = '{}' THEN images.scope_terms ELSE excluded.scope_terms END
     RETURNING ${IMAGE_COLUMNS}`,
    [
      image.name,
      image.sha256,
      image.sizeBytes,
      image.format,
      image.virtualBytes,
      actorLabel(actor),
      image.scopeTerms,
    ],
  );
  if (!row) throw new Error('the image was not stored');
  return imageOf(row);
}

/** Null: there is none that a caller with this scope may read. */
export async function findImage(session: Session, name: string, scope: Scope | null): Promise<Image | null> {
  const readable = readableIn(scope, 2);
  const [row] = await session.run<ImageRow & Record<string, unknown>>(
    preparedAs('find-image', scope),
    `SELECT ${IMAGE_COLUMNS} FROM images WHERE image_name = $1 AND ${readable.text}`,
    [name, ...readable.values],
  );
  return row ? imageOf(row) : null;
}

export async function listImages(session: Session, scope: Scope | null): Promise<Image[]> {
  const readable = readableIn(scope, 1);
  const rows = await session.run<ImageRow & Record<string, unknown>>(
    preparedAs('list-images', scope),
    `SELECT ${IMAGE_COLUMNS} FROM images WHERE ${readable.text} ORDER BY image_name`,
    [...readable.values],
  );
  return rows.map(imageOf);
}

export async function removeImage(database: Database, name: string, actor: Actor): Promise<Image | null> {
  return database.transaction(async (session) => {
    const [row] = await session.run<ImageRow & Record<string, unknown>>(
      'remove-image',
      `DELETE FROM images WHERE image_name = $1 RETURNING ${IMAGE_COLUMNS}`,
      [name],
    );
    if (!row) return null;
    const before = imageOf(row);
    await recordChange(session, { kind: 'image', subject: name, to: 'removed', actor, before });
    return before;
  });
}

/** Whether an image has these bytes. */
export async function isDigestUsed(session: Session, sha256: string): Promise<boolean> {
  const rows = await session.run('digest-used', 'SELECT 1 AS found FROM images WHERE sha256 = $1 LIMIT 1', [
    sha256,
  ]);
  return rows.length > 0;
}

export async function storeInstallProfile(
  database: Database,
  profile: InstallProfile,
  { actor, scope }: Acting,
): Promise<void> {
  const { name } = profile;
  await database.transaction(async (session) => {
    const before = await findInstallProfile(session, name, null);
    const [row] = await session.run<OwnedRow & Record<string, unknown>>(
      'store-workflow',
      `INSERT INTO workflows (workflow_name, definition, created_by, scope_terms) VALUES ($1, $2, $3, $4)
       ON CONFLICT (workflow_name) DO UPDATE SET definition = excluded.definition, created_by = excluded.created_by,
         created_at = now() RETURNING scope_terms`,
      [name, JSON.stringify(profile), actorLabel(actor), termsOf(scope)],
    );
    checkOwned(`workflow ${name}`, row, scope);
    const to = before ? 'replaced' : 'created';
    await recordChange(session, { kind: 'workflow', subject: name, to, actor, before, after: profile });
  });
}

function profileOf(definition: InstallProfile): InstallProfile {
  return { ...PROFILE_DEFAULTS, ...definition };
}

/** Null: there is none that a caller with this scope may read. */
export async function findInstallProfile(
  session: Session,
  name: string,
  scope: Scope | null,
): Promise<InstallProfile | null> {
  const readable = readableIn(scope, 2);
  const [row] = await session.run<{ definition: InstallProfile }>(
    preparedAs('find-workflow', scope),
    `SELECT definition FROM workflows WHERE workflow_name = $1 AND ${readable.text}`,
    [name, ...readable.values],
  );
  return row ? profileOf(row.definition) : null;
}

export interface StoredProfile {
  readonly profile: InstallProfile;
  readonly scopeTerms: readonly string[];
}

/** Those that a caller with this scope may read. */
export async function listInstallProfiles(session: Session, scope: Scope | null): Promise<StoredProfile[]> {
  const readable = readableIn(scope, 1);
  const rows = await session.run<{ definition: InstallProfile; scope_terms: string[] }>(
    preparedAs('list-workflows', scope),
    `SELECT definition, scope_terms FROM workflows WHERE ${readable.text} ORDER BY workflow_name`,
    [...readable.values],
  );
  return rows.map((row) => ({ profile: profileOf(row.definition), scopeTerms: row.scope_terms }));
}

export async function removeInstallProfile(
  database: Database,
  name: string,
  { actor, scope }: Acting,
): Promise<boolean> {
  return database.transaction(async (session) => {
    const readable = readableIn(scope, 2);
    const [row] = await session.run<OwnedRow & { definition: InstallProfile } & Record<string, unknown>>(
      preparedAs('remove-workflow', scope),
      `DELETE FROM workflows WHERE workflow_name = $1 AND ${readable.text} RETURNING definition, scope_terms`,
      [name, ...readable.values],
    );
    if (!row) return false;
    checkOwned(`workflow ${name}`, row, scope);
    const before = profileOf(row.definition);
    await recordChange(session, { kind: 'workflow', subject: name, to: 'removed', actor, before });
    return true;
  });
}
