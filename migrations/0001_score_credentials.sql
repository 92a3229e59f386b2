-- Signing keys, issued score credentials and revocation lists. All three are written by the room score-credentials alone.

create table signing_keys (
  kid text primary key check (kid ~ '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$'),
  public_key bytea not null unique check (length(public_key) = 32),
  state text not null check (state in ('pending', 'active', 'retired', 'revoked')),
  created_at timestamptz not null,
  activated_at timestamptz,
  retired_at timestamptz,
  revoked_at timestamptz,
  check ((state = 'revoked') = (revoked_at is not null)),
  check (state <> 'pending' or activated_at is null),
  check (state not in ('active', 'retired') or activated_at is not null),
  check (state <> 'active' or retired_at is null),
  check (state <> 'retired' or retired_at is not null)
);

create unique index signing_keys_one_active on signing_keys (state) where state = 'active';

-- One row a list: what a revocation marks (revision) and what was last published. A list takes credentials until closed_at and
-- is published until dies_at.
create table status_lists (
  list_id text primary key check (list_id ~ '^[a-z2-7]{10}$'),
  opened_at timestamptz not null,
  closed_at timestamptz,
  dies_at timestamptz,
  revision bigint not null default 0,
  published_revision bigint not null,
  publication bigint not null default 1,
  published_at timestamptz not null,
  refresh_at timestamptz not null,
  valid_until timestamptz not null,
  payload text not null,
  proofs jsonb not null,
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
  unique (list_id, list_index)
);

create unique index score_credentials_one_current on score_credentials (subject) where superseded_at is null;
create index score_credentials_revoked on score_credentials (list_id, list_index) where revoked_at is not null;

-- Revocation is a one-way door (spec §3.2, Bitstring Status List): nothing, no release and no operator, opens it again.
create function keep_revoked() returns trigger language plpgsql as $$
begin
  raise exception 'a revoked credential stays revoked' using errcode = 'integrity_constraint_violation';
end
$$;

create trigger score_credentials_stay_revoked before update on score_credentials
  for each row when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function keep_revoked();

create trigger signing_keys_stay_revoked before update on signing_keys
  for each row when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)
  execute function keep_revoked();
