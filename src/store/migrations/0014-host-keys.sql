-- min_version: 0.1.0
-- The public half of the SSH host key that a deployment gave a machine: by it the machine is known after its disk was
-- written again. The private half is on the machine alone.
CREATE TABLE host_keys (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES machines ON DELETE CASCADE,
  public_key text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
