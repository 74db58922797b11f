-- What operators asked of an operation: to accept what is observed instead of acting ('asked', then 'adopted'), and to
-- begin anew once everything is undone.
ALTER TABLE operations
  ADD COLUMN adopting text NOT NULL DEFAULT '' CHECK (adopting IN ('', 'asked', 'adopted')),
  ADD COLUMN restarting boolean NOT NULL DEFAULT false;

-- What an upstream, such as MAAS, last said of the machine. It is not ours, only recorded.
ALTER TABLE machines ADD COLUMN observed jsonb;

CREATE INDEX machines_by_service ON machines (service, machine_id) WHERE service IS NOT NULL;
