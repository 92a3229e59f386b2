-- Signing keys, issued score credentials and status lists. Only the module score-credentials writes
-- these tables.

create table signing_keys (
  kid text primary key check (kid ~ '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$'),
  public_key bytea not null unique check (length(public_key) = 32),
  state text not null check (state in ('pending', 'active', 'retired', 'revoked')),
  created_at timestamptz not null,
  activated_at timestamptz,
  retired_at timestamptz,
  revoked_at timestamptz,
  -- When all credentials of the key were revoked. One mark on the key covers any number of rows,
  -- and also rows that an issuing transaction commits later.
  credentials_revoked_at timestamptz
    check (credentials_revoked_at is null or state = 'revoked'),
  check ((state = 'revoked') = (revoked_at is not null)),
  check (state <> 'pending' or activated_at is null),
  check (state not in ('active', 'retired') or activated_at is not null),
  check (state <> 'active' or retired_at is null),
  check (state <> 'retired' or retired_at is not null)
);

create unique index signing_keys_one_active on signing_keys (state) where state = 'active';

create trigger signing_keys_revoked_final before update on signing_keys
  for each row
  when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function refuse_change('a revoked signing key stays revoked');
create trigger signing_keys_credentials_revoked_final before update on signing_keys
  for each row
  when (old.credentials_revoked_at is not null
    and new.credentials_revoked_at is distinct from old.credentials_revoked_at)
  execute function refuse_change('the revoked credentials of a signing key stay revoked');

-- One row for each status list. A list takes credentials until closed_at and is published until
-- dies_at.
create table status_lists (
  list_id text primary key check (list_id ~ '^[a-z2-7]{10}$'),
  opened_at timestamptz not null,
  closed_at timestamptz,
  dies_at timestamptz,
  -- Rises with each revocation in the list.
  revision bigint not null default 0,
  -- What was last published: the revision, the document and its proofs.
  published_revision bigint not null,
  publication bigint not null default 1,
  published_at timestamptz not null,
  refresh_at timestamptz not null,
  valid_until timestamptz not null,
  payload text not null,
  proofs jsonb not null,
  -- Read from the list itself. If the service moves to another address, a list keeps its id and its
  -- issuer, because its credentials name both.
  issuer text not null generated always as (substring(payload from '"issuer":"([^"]*)"')) stored,
  check ((closed_at is null) = (dies_at is null)),
  check (published_revision <= revision)
);

create table score_credentials (
  vc_sha256 bytea primary key check (length(vc_sha256) = 32),
  status_token bytea not null unique check (length(status_token) = 32),
  credential_id uuid not null unique,
  subject text not null,
  list_id text not null references status_lists,
  list_index integer not null check (list_index between 0 and 131071),
  kid text not null references signing_keys,
  payload text not null,
  proof text not null,
  issued_at timestamptz not null,
  valid_until timestamptz not null,
  superseded_at timestamptz,
  revoked_at timestamptz,
  -- The key is included, so that the bits of a list are read from the index alone: a list has up to
  -- 98,304 credentials of 1.5 KiB each.
  constraint score_credentials_place unique (list_id, list_index) include (kid)
);

create unique index score_credentials_one_current on score_credentials (subject)
  where superseded_at is null;
create index score_credentials_revoked on score_credentials (list_id, list_index)
  where revoked_at is not null;

create trigger score_credentials_revoked_final before update on score_credentials
  for each row
  when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function refuse_change('a revoked credential stays revoked');

-- Returns the digest of the username in a credential subject. Of former usernames only this digest
-- is kept. Declared immutable, because the database encoding is UTF-8 and never changes.
create function subject_name_sha256(subject text) returns bytea
language sql immutable strict parallel safe as $$
  select sha256(convert_to(split_part(subject, '/u/', 2), 'UTF8'))
$$;

create index score_credentials_name on score_credentials (subject_name_sha256(subject));
