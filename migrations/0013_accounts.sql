-- Accounts and their API keys (decisions D14–D16). Written by the room access alone; the payments read them, to charge by key.

create table accounts (
  id uuid primary key,
  -- The operator's own name for the customer.
  name text not null unique check (char_length(name) >= 1 and char_length(name) <= 120 and name !~ '[[:cntrl:]]'),
  created_at timestamptz not null
);

-- Which peppers digests of keys were made with: the peppers themselves are never here. A process that holds another one under the same
-- name would take every key for a wrong one; it finds out by the fingerprint.
create table api_key_peppers (
  kid text primary key,
  fingerprint bytea not null check (length(fingerprint) = 32),
  first_used_at timestamptz not null
);

-- A key is nowhere: its digest is HMAC-SHA-256 under a pepper, so that whoever can write here cannot make a key.
create table api_keys (
  id uuid primary key,
  account_id uuid not null references accounts,
  environment text not null check (environment in ('live', 'test')),
  digest bytea not null unique check (length(digest) = 32),
  pepper text not null references api_key_peppers,
  -- Its beginning and its end, for people to tell keys apart.
  shown text not null check (shown ~ '^svc_(live|test)_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$'),
  name text not null check (char_length(name) >= 1 and char_length(name) <= 120 and name !~ '[[:cntrl:]]'),
  scopes text[] not null check (
    cardinality(scopes) >= 1 and cardinality(scopes) <= 4
    and scopes <@ array['candidates:read', 'scores:read', 'webhooks:write', 'agent-decisions:write']),
  -- The key that this one takes the place of.
  predecessor uuid unique references api_keys,
  created_at timestamptz not null,
  expires_at timestamptz check (expires_at > created_at),
  revoked_at timestamptz
);

create index api_keys_account on api_keys (account_id);

-- A table of its own: a server that answers requests writes it, and must not be able to touch a key.
create table api_key_uses (
  key_id uuid primary key references api_keys,
  -- Up to half a minute behind.
  last_used_at timestamptz not null
) with (fillfactor = 50);
