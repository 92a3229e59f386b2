-- Users, memberships, sign-in and sessions (decisions D44 to D48). Only the module accounts writes
-- these tables.

create table users (
  id uuid primary key,
  -- In lower case, so that an address names one user.
  email text not null unique check (
    email = lower(email) and char_length(email) <= 254
    and email ~ '^[^\s<>@]{1,64}@[a-z0-9.-]{1,253}$'),
  name text check (char_length(name) between 1 and 120 and name !~ '[[:cntrl:]]'),
  created_at timestamptz not null,
  -- A disabled user cannot sign in, and no session of the user is valid.
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

-- The value of a session has 256 random bits and is not stored; only its SHA-256 is.
create table sessions (
  id uuid primary key,
  digest bytea not null unique check (length(digest) = 32),
  user_id uuid not null,
  account_id uuid not null,
  created_at timestamptz not null,
  -- Up to a minute and a half behind. An idle session ends.
  last_seen_at timestamptz not null,
  ends_at timestamptz not null check (ends_at > created_at),
  -- Such as `Firefox on Linux`, and the network without its last bits: enough for the user to
  -- recognise the session.
  browser text not null check (char_length(browser) between 1 and 60),
  network text not null check (char_length(network) between 1 and 60),
  -- A session ends with its membership.
  foreign key (user_id, account_id) references memberships on delete cascade
);

create index sessions_user on sessions (user_id, account_id);
create index sessions_end on sessions (ends_at);

-- The mail outbox. The text is made when a mail is sent, so no row and no backup holds a link.
create table mails (
  id uuid primary key,
  kind text not null check (kind in ('sign_in', 'invitation')),
  -- The requested address in lower case. Whether a user has it is decided when the mail is sent.
  email text not null check (
    email = lower(email) and char_length(email) <= 254
    and email ~ '^[^\s<>@]{1,64}@[a-z0-9.-]{1,253}$'),
  -- The path to open after sign-in.
  next text check (next like '/%' and octet_length(next) <= 512),
  created_at timestamptz not null,
  attempts integer not null default 0 check (attempts >= 0),
  -- When to send the mail, or to retry if the sending process has died. Null: the mail was sent, or
  -- a command printed its link.
  due_at timestamptz
);

create index mails_due on mails (due_at) where due_at is not null;
create index mails_email on mails (email);

-- Each attempt to send a mail creates a link. Signing in by one of them deletes the mail with all
-- its links, so each works once. The token has 256 random bits and is not stored; only its SHA-256
-- is.
create table sign_in_links (
  digest bytea primary key check (length(digest) = 32),
  mail_id uuid not null references mails on delete cascade,
  user_id uuid not null references users on delete cascade,
  expires_at timestamptz not null
);

create index sign_in_links_mail on sign_in_links (mail_id);
create index sign_in_links_user on sign_in_links (user_id);

-- Times of the requests of the last hour, for each mail address and each network: an exact sliding
-- window. The bucket is a digest of its name.
create table sign_in_limits (
  bucket bytea primary key check (length(bucket) = 32),
  requested_at timestamptz[] not null default '{}'
);
