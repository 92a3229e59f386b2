-- Tokens of the operator's own systems (decision D60). A token itself is not stored: it has 178
-- random bits, so its SHA-256 reveals nothing.
create table operator_tokens (
  id uuid primary key,
  name text not null check (
    char_length(name) >= 1 and char_length(name) <= 80 and name !~ '[[:cntrl:]]'),
  role text not null check (role in ('viewer', 'support', 'admin', 'ingest')),
  digest bytea not null unique check (length(digest) = 32),
  -- The first and last characters, to tell tokens apart.
  shown text not null check (shown ~ '^svc_op_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$'),
  -- Networks such as 192.0.2.0/24 from which the token may be used, or null for any network.
  allowed_from cidr[] check (cardinality(allowed_from) between 1 and 20),
  created_at timestamptz not null,
  expires_at timestamptz not null check (
    expires_at > created_at and expires_at <= created_at + interval '400 days'),
  revoked_at timestamptz,
  -- At most a minute behind.
  last_used_at timestamptz
);
