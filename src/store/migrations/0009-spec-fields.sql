-- min_version: 0.1.0
-- Customer, serial number and location are fields of the spec; the expressions are those of src/store/spec-columns.ts.
CREATE INDEX machines_by_customer ON machines ((nullif(spec ->> 'customer_id', '')), machine_id)
  WHERE nullif(spec ->> 'customer_id', '') IS NOT NULL;
CREATE INDEX machines_by_serial ON machines ((nullif(spec ->> 'serial', '')), machine_id)
  WHERE nullif(spec ->> 'serial', '') IS NOT NULL;
CREATE INDEX machines_by_site ON machines ((nullif((spec -> 'location') ->> 'site', '')), machine_id)
  WHERE nullif((spec -> 'location') ->> 'site', '') IS NOT NULL;
CREATE INDEX machines_by_row ON machines ((nullif((spec -> 'location') ->> 'row', '')), machine_id)
  WHERE nullif((spec -> 'location') ->> 'row', '') IS NOT NULL;
CREATE INDEX machines_by_location_rack ON machines ((nullif((spec -> 'location') ->> 'rack', '')), machine_id)
  WHERE nullif((spec -> 'location') ->> 'rack', '') IS NOT NULL;
-- The rack of the location, or else that of the label.
CREATE INDEX machines_by_rack
  ON machines ((coalesce(nullif((spec -> 'location') ->> 'rack', ''), nullif(labels ->> 'rack', ''))), machine_id)
  WHERE coalesce(nullif((spec -> 'location') ->> 'rack', ''), nullif(labels ->> 'rack', '')) IS NOT NULL;

-- Which machines have an operation under way, however many have none.
CREATE INDEX machines_by_active_operation ON machines (active_operation_id, machine_id)
  WHERE active_operation_id IS NOT NULL;
