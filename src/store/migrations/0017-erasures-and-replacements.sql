-- min_version: 0.1.0
-- Erasures: what a boot may do is a part of its token, and the evidence of the last erasure is kept with the node.
ALTER TABLE boot_tokens ADD COLUMN purpose text NOT NULL DEFAULT 'install'
  CONSTRAINT boot_tokens_purpose CHECK (purpose IN ('install', 'erase'));
ALTER TABLE nodes
  -- How much of a disk is written over that has no erase command of its own.
  ADD COLUMN wanted_overwrite text NOT NULL DEFAULT 'ends'
    CONSTRAINT nodes_wanted_overwrite CHECK (wanted_overwrite IN ('ends', 'whole')),
  -- Null until an erasure was reported.
  ADD COLUMN erasure jsonb;
