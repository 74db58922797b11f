-- min_version: 0.1.0
-- Views of lists that people saved: the filter, order, columns and grouping of a page, under a name. One without an owner is
-- shared, with those who may read its scope.
CREATE TABLE saved_views (
  page text NOT NULL,
  owner text COLLATE "C" NOT NULL,
  view_name text COLLATE "C" NOT NULL,
  query text NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  scope text NOT NULL DEFAULT '',
  scope_terms text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (page, owner, scope, view_name)
);

-- Views have events. Whatever other kinds there are stay.
DO $$
DECLARE
  kinds text := (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conname = 'events_kind_check');
BEGIN
  ALTER TABLE events DROP CONSTRAINT events_kind_check;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_kind_check CHECK (kind = ''view'' OR %s) NOT VALID', kinds);
END
$$;
