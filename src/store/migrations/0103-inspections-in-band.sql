-- min_version: 0.1.0
-- An inspection in band is a boot of the installer like that of a burn-in, without tests: what it reports is the inventory.
ALTER TABLE burn_ins ADD COLUMN purpose text NOT NULL DEFAULT 'test' CONSTRAINT burn_ins_purpose CHECK (purpose IN ('test', 'inspection'));
ALTER TABLE burn_ins ADD COLUMN inventory jsonb;
