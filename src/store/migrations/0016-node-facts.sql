-- min_version: 0.1.0
-- Facts that an operator edited: they stay until they are cleared, whatever the machine reports.
ALTER TABLE nodes ADD COLUMN edited_facts text[] NOT NULL DEFAULT '{}';

-- Closed sets with a default. What was stored in another case or under another usual name keeps its meaning.
UPDATE nodes SET arch = CASE lower(arch)
  WHEN 'arm64' THEN 'arm64' WHEN 'aarch64' THEN 'aarch64' ELSE 'x86_64' END;
UPDATE nodes SET boot_mode = CASE WHEN lower(boot_mode) IN ('uefi', 'pi') THEN lower(boot_mode) ELSE 'bios' END;
ALTER TABLE nodes ALTER COLUMN arch SET DEFAULT 'x86_64';
ALTER TABLE nodes ALTER COLUMN boot_mode SET DEFAULT 'bios';

-- Tags have one case. Those that become the same are one; the order stays.
UPDATE nodes SET tags = ARRAY(
  SELECT lower(tag) FROM unnest(tags) WITH ORDINALITY AS t(tag, place) GROUP BY lower(tag) ORDER BY min(place))
WHERE tags::text <> lower(tags::text);
