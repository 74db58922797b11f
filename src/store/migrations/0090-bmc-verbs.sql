-- min_version: 0.1.0
-- The indicator of a machine that is on (src/domain/hardware/locating.ts). Null: it is off.
ALTER TABLE machines ADD COLUMN locating jsonb;
CREATE INDEX machines_locating ON machines (((locating ->> 'dueAt') COLLATE "C")) WHERE locating IS NOT NULL;

-- POWER takes a machine out of service (src/domain/operation/disruption.ts). Whatever other types there are stay. No machine has an
-- operation of this type yet, so indexes over the function stay as they are.
DO $$
DECLARE
  definition text := pg_get_functiondef('ingot_unavailable_reason'::regproc);
BEGIN
  EXECUTE replace(definition, '''MIGRATE''', '''MIGRATE'', ''POWER''');
END
$$;
