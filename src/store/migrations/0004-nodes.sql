-- Nodes: machines that boot from the network. The install layer's state is machines.install; here is what is known
-- of the hardware, what shall be installed, and how far that is.
CREATE TABLE nodes (
  machine_id text COLLATE "C" PRIMARY KEY REFERENCES machines,
  mac_address text COLLATE "C" NOT NULL UNIQUE,
  hostname text NOT NULL DEFAULT '',
  vendor text NOT NULL DEFAULT '',
  model text NOT NULL DEFAULT '',
  serial_number text NOT NULL DEFAULT '',
  system_uuid text NOT NULL DEFAULT '',
  arch text NOT NULL DEFAULT '',
  boot_mode text NOT NULL DEFAULT '',
  ip_address text NOT NULL DEFAULT '',
  workflow text NOT NULL DEFAULT '',
  tags text[] NOT NULL DEFAULT '{}',
  notes text NOT NULL DEFAULT '',
  install_attempts integer NOT NULL DEFAULT 0,
  last_install_error text NOT NULL DEFAULT '',
  -- Null while nothing is being installed.
  install_progress integer,
  state_changed_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz,
  -- The last report about an installation, for finding those that have stalled.
  last_report_at timestamptz,
  -- Boots that were given a token are numbered. `boot_no` is the one whose story is being told, and whether it has
  -- ended; what an earlier one still reports changes nothing.
  boots_issued integer NOT NULL DEFAULT 0,
  boot_no integer NOT NULL DEFAULT 0,
  boot_ended boolean NOT NULL DEFAULT false,
  -- Boots before this one belong to an installation that is over.
  first_boot_no integer NOT NULL DEFAULT 1,
  -- Who wants the installation: an operation and its attempt, or nobody but the state itself. An operation's
  -- installation is served only while the operation lives.
  wanted_operation text,
  wanted_key text NOT NULL DEFAULT '',
  wanted_image text NOT NULL DEFAULT '',
  wanted_at timestamptz,
  -- When the machine was last sent into a boot for it.
  kicked_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX nodes_by_tag ON nodes USING gin (tags);
CREATE INDEX nodes_by_workflow ON nodes (workflow, machine_id) WHERE workflow <> '';
CREATE INDEX machines_by_install ON machines (install, machine_id) WHERE install IS NOT NULL;
CREATE INDEX machines_by_mac ON machines USING gin ((spec -> 'mac_addresses') jsonb_path_ops);

-- One boot's right to report, and to fetch its image. Only hashes are kept.
CREATE TABLE boot_tokens (
  token_hash bytea PRIMARY KEY,
  machine_id text COLLATE "C" NOT NULL REFERENCES nodes,
  boot_no integer NOT NULL,
  operation_id text COLLATE "C",
  image text NOT NULL,
  issued_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX boot_tokens_by_machine ON boot_tokens (machine_id, boot_no);

CREATE TABLE images (
  image_name text COLLATE "C" PRIMARY KEY,
  sha256 text NOT NULL,
  size_bytes bigint NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE workflows (
  workflow_name text COLLATE "C" PRIMARY KEY,
  definition jsonb NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
