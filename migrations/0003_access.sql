-- Accounts and their API keys (decisions D14 and D15). Only the module access writes these tables.
-- The module credits reads them to charge by key.

create table accounts (
  id uuid primary key,
  -- The operator's name for the customer.
  name text not null unique check (
    char_length(name) >= 1 and char_length(name) <= 120 and name !~ '[[:cntrl:]]'),
  created_at timestamptz not null
);

-- Fingerprints of the peppers under which key digests were made. The peppers are not in the
-- database. A process with a different pepper of the same name would reject every key; it detects
-- that by the fingerprint.
create table api_key_peppers (
  kid text primary key,
  fingerprint bytea not null check (length(fingerprint) = 32),
  first_used_at timestamptz not null
);

-- A key itself is not stored. Its digest is HMAC-SHA-256 under a pepper, so write access to this
-- table is not enough to make a key.
create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  environment text not null check (environment in ('live', 'test')),
  digest bytea not null unique check (length(digest) = 32),
  pepper text not null references api_key_peppers,
  -- The first and last characters, to tell keys apart.
  shown text not null check (shown ~ '^svc_(live|test)_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$'),
  name text not null check (
    char_length(name) >= 1 and char_length(name) <= 120 and name !~ '[[:cntrl:]]'),
  scopes text[] not null check (
    cardinality(scopes) >= 1 and cardinality(scopes) <= 4
    and scopes <@ array[
      'candidates:read', 'scores:read', 'webhooks:write', 'agent-decisions:write']),
  -- The key that this key replaces.
  predecessor uuid unique references api_keys,
  created_at timestamptz not null,
  expires_at timestamptz check (expires_at > created_at),
  revoked_at timestamptz,
  -- Networks such as 192.0.2.0/24 from which the key may be used, or null for any network.
  allowed_from text[] check (
    cardinality(allowed_from) >= 1 and cardinality(allowed_from) <= 20
    and array_position(allowed_from, null) is null
    and array_to_string(allowed_from, ' ') ~ '^[0-9a-f.:]+/[0-9]+( [0-9a-f.:]+/[0-9]+)*$')
);

create index api_keys_account on api_keys (account_id);
-- If a key is not found, the server asks which peppers still have keys.
create index api_keys_pepper on api_keys (pepper) where revoked_at is null;

-- Ledger entries name a key without a foreign key, so a key is never deleted.
create trigger api_keys_permanent before delete or truncate or update of id, account_id on api_keys
  for each statement execute function refuse_change('an API key in the ledger is permanent');

-- A separate table, because a server process writes it and must not be able to change a key.
create table api_key_uses (
  key_id uuid primary key references api_keys,
  -- Up to half a minute behind.
  last_used_at timestamptz not null
) with (fillfactor = 50);

-- Keys that move to a newer pepper when they are used. A server process must not change a key, so
-- it leaves the new digest here, and the jobs process moves the key.
create table api_key_moves (
  key_id uuid primary key references api_keys,
  pepper text not null check (char_length(pepper) between 1 and 64),
  digest bytea not null check (length(digest) = 32),
  -- HMAC-SHA-256 under the new pepper over the id of the key and the digest. Without the pepper,
  -- write access to this table moves no key.
  proof bytea not null check (length(proof) = 32)
);
