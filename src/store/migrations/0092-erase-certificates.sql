-- min_version: 0.1.0
-- The signed evidence of erasures (src/audit/erase-certificate.ts): written once, never changed, and kept when its machine is gone.
CREATE TABLE erase_certificates (
  machine_id text COLLATE "C" NOT NULL,
  operation_id text COLLATE "C" NOT NULL,
  issued_at timestamptz NOT NULL,
  -- Canonical JSON: the very text that is signed.
  document text NOT NULL,
  key_id text NOT NULL,
  public_key text NOT NULL,
  signature text NOT NULL,
  PRIMARY KEY (machine_id, operation_id)
);

CREATE INDEX erase_certificates_newest ON erase_certificates (machine_id, issued_at DESC);
