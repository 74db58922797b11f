-- min_version: 0.1.0
-- The indexes of these values are partial, and PostgreSQL takes no statistics from partial indexes: it guessed that one machine in 200
-- matches each value. A list in a scope such as customer_id=acme AND location.site=ams1 then read the machines of the whole site, and its
-- time grew with the machines of others.
CREATE STATISTICS machines_customer ON (nullif(spec ->> 'customer_id', '')) FROM machines;
CREATE STATISTICS machines_serial ON (nullif(spec ->> 'serial', '')) FROM machines;
CREATE STATISTICS machines_site ON (nullif((spec -> 'location') ->> 'site', '')) FROM machines;
CREATE STATISTICS machines_row ON (nullif((spec -> 'location') ->> 'row', '')) FROM machines;
CREATE STATISTICS machines_location_rack ON (nullif((spec -> 'location') ->> 'rack', '')) FROM machines;
CREATE STATISTICS machines_rack
  ON (coalesce(nullif((spec -> 'location') ->> 'rack', ''), nullif(labels ->> 'rack', ''))) FROM machines;
