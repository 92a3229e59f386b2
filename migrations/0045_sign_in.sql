-- Sign-in by mail link (decisions D45, D46). Written by the module accounts alone.

-- The mail outbox. Its text is made when a mail is sent, so no row and no backup holds a link.
create table mails (
  id uuid primary key,
  kind text not null check (kind in ('sign_in', 'invitation')),
  -- As the sender asked for it, in lower case: whether a user has it is decided when the mail is sent.
  email text not null check (email = lower(email) and char_length(email) <= 254 and email ~ '^[^\s<>@]{1,64}@[a-z0-9.-]{1,253}$'),
  -- Where the user wants to go after signing in: a path of ours.
  next text check (next like '/%' and octet_length(next) <= 512),
  created_at timestamptz not null,
  attempts integer not null default 0 check (attempts >= 0),
  -- When to send it, or to look at it again if the process that sends it dies. Null: it was sent, or a command printed its link.
  due_at timestamptz
);

create index mails_due on mails (due_at) where due_at is not null;
create index mails_email on mails (email);

-- Each attempt to send a mail makes a link. Signing in with one of them deletes the mail, and so all links of that mail: they work once.
-- A link's token is nowhere: its SHA-256 is kept, and it has 256 random bits.
create table sign_in_links (
  digest bytea primary key check (length(digest) = 32),
  mail_id uuid not null references mails on delete cascade,
  user_id uuid not null references users on delete cascade,
  expires_at timestamptz not null
);

create index sign_in_links_mail on sign_in_links (mail_id);
create index sign_in_links_user on sign_in_links (user_id);

-- Requests of the last hour, for each mail address and each network: an exact sliding window. The bucket is a digest of its name.
create table sign_in_limits (
  bucket bytea primary key check (length(bucket) = 32),
  requested_at timestamptz[] not null default '{}'
);
