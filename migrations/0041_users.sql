-- Users, their memberships in accounts, and their sessions (decision D48). Written by the module accounts alone.

create table users (
  id uuid primary key,
  -- In lower case: an address names one user, however it is typed.
  email text not null unique check (email = lower(email) and char_length(email) <= 254 and email ~ '^[^\s<>@]{1,64}@[a-z0-9.-]{1,253}$'),
  name text check (char_length(name) between 1 and 120 and name !~ '[[:cntrl:]]'),
  created_at timestamptz not null,
  -- A disabled user cannot sign in, and none of their sessions is valid.
  disabled_at timestamptz
);

create table memberships (
  user_id uuid not null references users on delete cascade,
  account_id uuid not null references accounts,
  role text not null check (role in ('owner', 'member')),
  created_at timestamptz not null,
  primary key (user_id, account_id)
);

create index memberships_account on memberships (account_id);

-- A session's value is nowhere: its SHA-256 is kept, and the value has 256 random bits.
create table sessions (
  id uuid primary key,
  digest bytea not null unique check (length(digest) = 32),
  user_id uuid not null,
  account_id uuid not null,
  created_at timestamptz not null,
  -- Up to a minute and a half behind. A session that is idle for too long ends.
  last_seen_at timestamptz not null,
  ends_at timestamptz not null check (ends_at > created_at),
  -- Such as `Firefox on Linux`, and the network with its last bits cut off: enough for the user to recognise it.
  browser text not null check (char_length(browser) between 1 and 60),
  network text not null check (char_length(network) between 1 and 60),
  -- A session ends with the membership that it acts for.
  foreign key (user_id, account_id) references memberships on delete cascade
);

create index sessions_user on sessions (user_id, account_id);
create index sessions_end on sessions (ends_at);
