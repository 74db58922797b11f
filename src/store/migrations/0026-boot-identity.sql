-- min_version: 0.1.0
-- Who fetched the installer of a boot, and what it must prove. A token of an earlier version is bound to no address.
ALTER TABLE boot_tokens
  ADD COLUMN address text NOT NULL DEFAULT '',
  -- The last report of the boot; null: none yet.
  ADD COLUMN reported_at timestamptz,
  -- The digest of the image as it is served; empty: none, or not known.
  ADD COLUMN image_sha256 text NOT NULL DEFAULT '',
  -- What the image is on the disk, where that is known without unpacking it.
  ADD COLUMN disk_sha256 text NOT NULL DEFAULT '',
  ADD COLUMN disk_bytes bigint;

ALTER TABLE nodes
  -- The address of the installer that reports without a token; empty: none.
  ADD COLUMN reporter_address text NOT NULL DEFAULT '';
