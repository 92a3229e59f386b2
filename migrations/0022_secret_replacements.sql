-- When the secret was made to replace a leaked one; null for every other secret. Measured by the
-- clock of the database, because operators replace from different machines.
alter table webhook_secrets add column replacement_at timestamptz;
