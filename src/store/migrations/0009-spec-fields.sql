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

-- No two machines share a MAC address, a BMC (with the path of its system) or an SSH endpoint. Each such thing of a machine is
-- a row here, in a spelling that is the same however it is written. A machine that was removed holds nothing. Triggers keep
-- the rows, and not the statements that write machines: replicas of earlier versions write some, too. The rows of a machine are
-- found by the keys of its spec: a reference and an index by machine would cost each registration as much as the rows do.
CREATE TABLE machine_hardware (
  kind text NOT NULL CHECK (kind IN ('mac', 'bmc', 'ssh')),
  key text COLLATE "C" NOT NULL,
  machine_id text COLLATE "C" NOT NULL,
  CONSTRAINT one_machine_per_hardware PRIMARY KEY (kind, key)
);

-- The functions that every registration calls are single expressions of immutable parts, so that PostgreSQL puts them into the
-- statement; a call of its own would cost ten times as much.

-- In its shortest form; what is no address stays as it is written.
CREATE FUNCTION ingot_ipv6_key(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  RETURN '[' || host(substr(name, 2, length(name) - 2)::inet) || ']';
EXCEPTION WHEN invalid_text_representation THEN
  RETURN lower(name);
END
$$;

-- A host in lower case, without a dot at its end.
CREATE FUNCTION ingot_host_key(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN name LIKE '[%]' THEN ingot_ipv6_key(name) ELSE lower(rtrim(name, '.')) END
$$;

-- Of host, host:port, [IPv6] or [IPv6]:port. Null where there is none.
CREATE FUNCTION ingot_endpoint_key(endpoint text, default_port integer) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN endpoint ~ '^(\[[^]]*\]|[^:]+)(:\d{1,5})?$' THEN
    ingot_host_key(substring(endpoint, '^(\[[^]]*\]|[^:]+)')) || ':' ||
      coalesce(substring(endpoint, ':(\d{1,5})$')::integer, default_port)::text END
$$;

-- Host, port and path, without slashes at the end.
CREATE FUNCTION ingot_url_key(url text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ingot_host_key(part[2]) || ':' ||
    coalesce(part[3]::integer, CASE lower(part[1]) WHEN 'https' THEN 443 ELSE 80 END)::text || rtrim(part[4], '/')
  FROM regexp_match(url, '^(https?)://(\[[^]]*\]|[^/:?#]+)(?::(\d{1,5}))?([^?#]*)', 'i') AS part
$$;

CREATE FUNCTION ingot_bmc_key(endpoint text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN endpoint ~* '^https?://' THEN ingot_url_key(endpoint) ELSE ingot_endpoint_key(endpoint, 623) END
$$;

CREATE FUNCTION ingot_hardware_keys(spec jsonb) RETURNS TABLE (kind text, key text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT found.kind, found.key FROM (
    SELECT DISTINCT 'mac', lower(replace(mac, '-', ':'))
    FROM jsonb_array_elements_text(
      CASE jsonb_typeof(spec -> 'mac_addresses') WHEN 'array' THEN spec -> 'mac_addresses' ELSE '[]' END) AS mac
    UNION ALL SELECT 'bmc', ingot_bmc_key(spec ->> 'bmc_endpoint')
    UNION ALL SELECT 'ssh', ingot_endpoint_key(spec ->> 'ssh_endpoint', 22)) AS found (kind, key)
  WHERE found.key IS NOT NULL
$$;

CREATE FUNCTION ingot_keep_new_hardware() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO machine_hardware SELECT k.kind, k.key, m.machine_id
    FROM new_machines m CROSS JOIN LATERAL ingot_hardware_keys(m.spec) k
    WHERE m.service IS DISTINCT FROM 'deleted' ORDER BY 1, 2;
  RETURN NULL;
END
$$;

CREATE FUNCTION ingot_keep_changed_hardware() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' OR NEW.service = 'deleted' THEN
    DELETE FROM machine_hardware h WHERE h.machine_id = OLD.machine_id
      AND (h.kind, h.key) IN (SELECT k.kind, k.key FROM ingot_hardware_keys(OLD.spec) k);
    RETURN NULL;
  END IF;
  DELETE FROM machine_hardware h WHERE h.machine_id = NEW.machine_id
    AND (h.kind, h.key) IN (SELECT k.kind, k.key FROM ingot_hardware_keys(OLD.spec) k
      EXCEPT SELECT k.kind, k.key FROM ingot_hardware_keys(NEW.spec) k);
  -- What it had before stays, also where another machine had it first: that was so before anything watched over it.
  INSERT INTO machine_hardware SELECT kind, key, NEW.machine_id FROM ingot_hardware_keys(OLD.spec)
    INTERSECT SELECT kind, key, NEW.machine_id FROM ingot_hardware_keys(NEW.spec) ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
  INSERT INTO machine_hardware SELECT kind, key, NEW.machine_id FROM ingot_hardware_keys(NEW.spec)
    EXCEPT SELECT kind, key, NEW.machine_id FROM ingot_hardware_keys(OLD.spec) ORDER BY 1, 2;
  RETURN NULL;
END
$$;

CREATE TRIGGER machines_new_hardware AFTER INSERT ON machines
REFERENCING NEW TABLE AS new_machines FOR EACH STATEMENT EXECUTE FUNCTION ingot_keep_new_hardware();
CREATE TRIGGER machines_hardware AFTER UPDATE OF spec, service ON machines
FOR EACH ROW WHEN (OLD.spec IS DISTINCT FROM NEW.spec OR OLD.service IS DISTINCT FROM NEW.service)
EXECUTE FUNCTION ingot_keep_changed_hardware();
CREATE TRIGGER machines_gone_hardware AFTER DELETE ON machines
FOR EACH ROW EXECUTE FUNCTION ingot_keep_changed_hardware();

-- Of machines that share something today, the first one has it.
INSERT INTO machine_hardware
SELECT DISTINCT ON (k.kind, k.key) k.kind, k.key, m.machine_id
FROM machines m CROSS JOIN LATERAL ingot_hardware_keys(m.spec) k
WHERE m.service IS DISTINCT FROM 'deleted'
ORDER BY k.kind, k.key, m.created_at, m.machine_id;
