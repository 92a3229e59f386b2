-- People and their states: who they are, what they show, what they allow, whether somebody has checked who they are. All of it is
-- written by the room people alone. Nothing here is public by itself: the public gate (decision D33) decides what may be read.

-- A row stays after an erasure, without anything that tells whose it was, so that the books which name its id still add up.
create table workers (
  id uuid primary key,
  -- The operator's own name for the person: private.
  external_id text unique check (char_length(external_id) between 1 and 200),
  registered_at timestamptz not null,
  terms_version text check (char_length(terms_version) between 1 and 64),
  terms_accepted_at timestamptz,
  onboarded_at timestamptz,
  -- Rises by one with every change of a consent.
  consent_version integer not null default 0 check (consent_version >= 0),
  check ((terms_version is null) = (terms_accepted_at is null)),
  check (onboarded_at is null or terms_accepted_at is not null)
);

-- Every username ever taken, by its digest: after a rename or an erasure the name itself is nowhere, and still nobody else gets it
-- (decision D34).
create table usernames (
  username_sha256 bytea primary key check (length(username_sha256) = 32),
  worker_id uuid not null references workers,
  taken_at timestamptz not null,
  unique (worker_id, username_sha256)
);

create table profiles (
  worker_id uuid primary key references workers,
  username text collate "C" not null unique
    check (username ~ '^[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$' and username <> 'search'),
  username_sha256 bytea not null check (username_sha256 = sha256(convert_to(username, 'UTF8'))),
  display_name text not null check (char_length(display_name) between 1 and 80),
  title text check (char_length(title) between 1 and 120),
  bio text check (char_length(bio) between 1 and 2000),
  avatar_url text check (avatar_url ~ '^https://' and char_length(avatar_url) <= 2048),
  member_since text not null check (member_since ~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$'),
  updated_at timestamptz not null,
  -- The name shown is one that this person took.
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

-- What a person allows now. No row: never asked, or never answered. Granting and withdrawing is one move a permission, recorded in
-- consent_changes with the worker's next consent_version.
create table consents (
  worker_id uuid not null references workers,
  permission text not null check (permission in ('public_profile', 'search_listing', 'score_sharing')),
  granted boolean not null,
  text_version text,
  consent_version integer not null,
  primary key (worker_id, permission)
);

create table consent_changes (
  worker_id uuid not null references workers,
  consent_version integer not null check (consent_version >= 1),
  permission text not null check (permission in ('public_profile', 'search_listing', 'score_sharing')),
  granted boolean not null,
  -- Null where the permission had never been granted.
  previous_granted boolean,
  -- The text that the person agreed to.
  text_version text check (char_length(text_version) between 1 and 64),
  actor text not null check (char_length(actor) between 1 and 200),
  effective_at timestamptz not null,
  primary key (worker_id, consent_version),
  unique (worker_id, consent_version, permission, granted),
  check (granted = (text_version is not null)),
  -- Nothing is withdrawn that was not granted.
  check (granted or previous_granted is true)
);

-- What is allowed now is what the history says.
alter table consents add foreign key (worker_id, consent_version, permission, granted)
  references consent_changes (worker_id, consent_version, permission, granted);

-- Whether somebody has checked who the person is. No row: nobody has begun. `verified` with a past verified_until reads as expired.
create table identities (
  worker_id uuid primary key references workers,
  state text not null check (state in ('pending', 'verified', 'revoked')),
  verified_until timestamptz,
  change integer not null check (change >= 1),
  check ((state = 'verified') = (verified_until is not null))
);

create table identity_changes (
  worker_id uuid not null references workers,
  change integer not null check (change >= 1),
  state text not null check (state in ('pending', 'verified', 'revoked')),
  verified_until timestamptz,
  actor text not null check (char_length(actor) between 1 and 200),
  changed_at timestamptz not null,
  primary key (worker_id, change),
  unique (worker_id, change, state),
  check ((state = 'verified') = (verified_until is not null)),
  check (verified_until is null or verified_until > changed_at)
);

alter table identities add foreign key (worker_id, change, state)
  references identity_changes (worker_id, change, state);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are never changed or removed', tg_table_name
    using errcode = 'integrity_constraint_violation';
end
$$;

create trigger usernames_stay before update or delete on usernames
  for each row execute function refuse_change();
create trigger consent_changes_stay before update or delete on consent_changes
  for each row execute function refuse_change();
create trigger identity_changes_stay before update or delete on identity_changes
  for each row execute function refuse_change();
