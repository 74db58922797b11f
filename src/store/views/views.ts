/**
 * Stored views. A personal one has an owner, and no one else reads or changes it. A shared one has none: it belongs to the scope
 * that it was shared in, so that two scopes may have the same name without seeing one another.
 */
import type { Acting } from '../../domain/access/caller.ts';
import type { Scope } from '../../domain/access/scope.ts';
import { actorLabel } from '../../domain/actor.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import {
  MAX_OWN_VIEWS,
  type NewView,
  type View,
  type ViewKey,
  type ViewPage,
} from '../../domain/view/view.ts';
import type { Database, Session } from '../database/database.ts';
import { recordChange } from '../events/record-change.ts';
import { readableIn } from '../filter/scope-condition.ts';
import { termsOf } from '../owned-records.ts';

interface ViewRow extends Record<string, unknown> {
  page: ViewPage;
  owner: string;
  view_name: string;
  query: string;
  created_by: string;
  created_at: Date;
}

const COLUMNS = 'page, owner, view_name, query, created_by, created_at';
type Sharing = View['sharing'];

function viewOf(row: ViewRow): View {
  return {
    page: row.page,
    name: row.view_name,
    query: row.query,
    sharing: row.owner === '' ? 'shared' : 'own',
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}

/** The scope of a personal view is not that of its owner: it is read by no one else, whatever the scope. */
function placeOf(sharing: Sharing, { actor, scope }: Acting): { owner: string; scope: Scope | null } {
  return sharing === 'own' ? { owner: actorLabel(actor), scope: null } : { owner: '', scope };
}

/** Those that the caller may read, by name; null: of all pages. */
export async function listViews(
  session: Session,
  page: ViewPage | null,
  { actor, scope }: Acting,
): Promise<View[]> {
  const readable = readableIn(scope, 3);
  const rows = await session.run<ViewRow>(
    '',
    `SELECT ${COLUMNS} FROM saved_views
     WHERE ($1::text IS NULL OR page = $1) AND (owner = $2 OR (owner = '' AND ${readable.text}))
     ORDER BY view_name, owner, scope`,
    [page, actorLabel(actor), ...readable.values],
  );
  return rows.map(viewOf);
}

export async function saveView(
  database: Database,
  view: NewView,
  sharing: Sharing,
  acting: Acting,
): Promise<View> {
  const { owner, scope } = placeOf(sharing, acting);
  return database.transaction(async (session) => {
    const key = [view.page, owner, scope?.text ?? '', view.name];
    const [before] = await session.run<ViewRow>(
      'find-view',
      `SELECT ${COLUMNS} FROM saved_views
       WHERE page = $1 AND owner = $2 AND scope = $3 AND view_name = $4 FOR UPDATE`,
      key,
    );
    if (!before && sharing === 'own') await checkRoom(session, view.page, owner);
    const [row] = await session.run<ViewRow>(
      'save-view',
      `INSERT INTO saved_views (page, owner, scope, view_name, query, created_by, scope_terms)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (page, owner, scope, view_name) DO UPDATE
       SET query = excluded.query, created_by = excluded.created_by, created_at = now()
       RETURNING ${COLUMNS}`,
      [...key, view.query, actorLabel(acting.actor), termsOf(scope)],
    );
    if (!row) throw new Error('a view that was inserted was not returned');
    await recordChange(session, {
      kind: 'view',
      subject: view.name,
      to: before ? 'replaced' : 'created',
      actor: acting.actor,
      before: before ? { query: before.query } : null,
      after: { query: view.query },
      metadata: { page: view.page, sharing },
    });
    return viewOf(row);
  });
}

async function checkRoom(session: Session, page: ViewPage, owner: string): Promise<void> {
  const [counted] = await session.run<{ views: string }>(
    'count-views',
    'SELECT count(*) AS views FROM saved_views WHERE page = $1 AND owner = $2',
    [page, owner],
  );
  if (Number(counted?.views ?? 0) >= MAX_OWN_VIEWS)
    throw invalidField(
      'name',
      `would be one more than the ${MAX_OWN_VIEWS} views that you may have; delete one`,
    );
}

/** Returns the view as it was. */
export async function deleteView(
  database: Database,
  { page, name }: ViewKey,
  sharing: Sharing,
  acting: Acting,
): Promise<View> {
  const { owner, scope } = placeOf(sharing, acting);
  return database.transaction(async (session) => {
    const [row] = await session.run<ViewRow>(
      'delete-view',
      `DELETE FROM saved_views WHERE page = $1 AND owner = $2 AND scope = $3 AND view_name = $4 RETURNING ${COLUMNS}`,
      [page, owner, scope?.text ?? '', name],
    );
    if (!row) throw viewNotFound(name);
    await recordChange(session, {
      kind: 'view',
      subject: name,
      to: 'deleted',
      actor: acting.actor,
      before: { query: row.query },
      metadata: { page, sharing },
    });
    return viewOf(row);
  });
}

function viewNotFound(name: string): Fault {
  return new Fault('VIEW_NOT_FOUND', {
    message: `there is no view ${JSON.stringify(name)}`,
    metadata: { view: name },
  });
}
