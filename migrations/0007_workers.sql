-- Workers: profile, consents and identity. Only the module workers writes these tables. The public
-- gate (decision D33) decides which of it may be read.

-- The row of a worker outlives an erasure, because events, audit entries and scores name its id.
create table workers (
  id uuid primary key,
  -- The operator's private id of the worker.
  external_id text unique check (char_length(external_id) between 1 and 200),
  registered_at timestamptz not null,
  terms_version text check (char_length(terms_version) between 1 and 64),
  terms_accepted_at timestamptz,
  onboarded_at timestamptz,
  -- Rises by one with each change of a consent.
  consent_version integer not null default 0 check (consent_version >= 0),
  erased_at timestamptz,
  check ((terms_version is null) = (terms_accepted_at is null)),
  check (onboarded_at is null or terms_accepted_at is not null),
  check (erased_at is null
    or (external_id is null and terms_version is null and onboarded_at is null))
);

-- Digest of each username that was ever taken. After a rename or an erasure the name itself is
-- gone, but no other worker can take it (decision D34).
create table usernames (
  username_sha256 bytea primary key check (length(username_sha256) = 32),
  worker_id uuid not null references workers,
  taken_at timestamptz not null,
  unique (worker_id, username_sha256)
);

create trigger usernames_append_only before update or delete on usernames
  for each row execute function refuse_change('a username stays taken');

create table profiles (
  worker_id uuid primary key references workers,
  username text collate "C" not null unique
    check (username ~ '^[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$' and username <> 'search'),
  username_sha256 bytea not null
    check (username_sha256 = sha256(convert_to(username, 'UTF8'))),
  display_name text not null check (char_length(display_name) between 1 and 80),
  title text check (char_length(title) between 1 and 120),
  bio text check (char_length(bio) between 1 and 2000),
  avatar_url text check (avatar_url ~ '^https://' and char_length(avatar_url) <= 2048),
  -- Year and month.
  member_since text not null check (member_since ~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$'),
  updated_at timestamptz not null,
  -- The username was taken by this worker.
  foreign key (worker_id, username_sha256) references usernames (worker_id, username_sha256)
);

create table profile_skills (
  worker_id uuid not null references profiles on delete cascade,
  name text not null check (char_length(name) between 1 and 80),
  place smallint not null check (place between 1 and 100),
  verified boolean not null,
  level text check (level in ('novice', 'intermediate', 'advanced', 'expert')),
  primary key (worker_id, name),
  unique (worker_id, place)
);

-- History of consents. A change takes the next consent_version of its worker.
create table consent_changes (
  worker_id uuid not null references workers,
  consent_version integer not null check (consent_version >= 1),
  permission text not null
    check (permission in ('public_profile', 'search_listing', 'score_sharing')),
  granted boolean not null,
  -- Null if the permission was neither granted nor refused before.
  previous_granted boolean,
  -- The text that the worker agreed to.
  text_version text check (char_length(text_version) between 1 and 64),
  -- `erased` after an erasure, because it is free text and may name the worker.
  actor text not null check (char_length(actor) between 1 and 200),
  effective_at timestamptz not null,
  primary key (worker_id, consent_version),
  -- For the foreign key of consents.
  unique (worker_id, consent_version, permission, granted),
  check (granted = (text_version is not null)),
  -- A refusal is recorded, so that no import grants the permission later. It is recorded once.
  check (granted or previous_granted is distinct from false)
);

create trigger consent_changes_append_only before update on consent_changes
  for each row
  when (new.actor <> 'erased' or to_jsonb(new) - 'actor' <> to_jsonb(old) - 'actor')
  execute function refuse_change('the history of consents is append-only');
create trigger consent_changes_permanent before delete on consent_changes
  for each row execute function refuse_change('the history of consents is append-only');

-- Current consents. No row: the worker has never answered.
create table consents (
  worker_id uuid not null references workers,
  permission text not null
    check (permission in ('public_profile', 'search_listing', 'score_sharing')),
  granted boolean not null,
  text_version text,
  consent_version integer not null,
  primary key (worker_id, permission),
  -- A consent equals the last change in its history.
  foreign key (worker_id, consent_version, permission, granted)
    references consent_changes (worker_id, consent_version, permission, granted)
);

-- History of identity checks.
create table identity_changes (
  worker_id uuid not null references workers,
  change integer not null check (change >= 1),
  state text not null check (state in ('pending', 'verified', 'revoked')),
  verified_until timestamptz,
  -- `erased` after an erasure, because it is free text and may name the worker.
  actor text not null check (char_length(actor) between 1 and 200),
  changed_at timestamptz not null,
  primary key (worker_id, change),
  -- For the foreign key of identities.
  unique (worker_id, change, state),
  check ((state = 'verified') = (verified_until is not null)),
  check (verified_until is null or verified_until > changed_at)
);

create trigger identity_changes_append_only before update on identity_changes
  for each row
  when (new.actor <> 'erased' or to_jsonb(new) - 'actor' <> to_jsonb(old) - 'actor')
  execute function refuse_change('the history of identity checks is append-only');
create trigger identity_changes_permanent before delete on identity_changes
  for each row execute function refuse_change('the history of identity checks is append-only');

-- Current identity check. No row: no check has begun. A verified identity counts as expired once
-- verified_until has passed.
create table identities (
  worker_id uuid primary key references workers,
  state text not null check (state in ('pending', 'verified', 'revoked')),
  verified_until timestamptz,
  change integer not null check (change >= 1),
  check ((state = 'verified') = (verified_until is not null)),
  -- An identity equals the last change in its history.
  foreign key (worker_id, change, state) references identity_changes (worker_id, change, state)
);
