-- Invitations (decision D47). Only the module accounts writes these tables.

-- Neither a user nor a membership exists before the invited person accepts. So an account learns
-- nothing about an address that it invites.
create table invitations (
  id uuid primary key,
  account_id uuid not null references accounts,
  email text not null check (
    email = lower(email) and char_length(email) <= 254
    and email ~ '^[^\s<>@]{1,64}@[a-z0-9.-]{1,253}$'),
  role text not null check (role in ('owner', 'member')),
  -- Null: the operator, or a user who was erased.
  invited_by uuid references users on delete set null,
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at),
  answered_at timestamptz,
  answer text check (answer in ('accepted', 'declined', 'withdrawn', 'expired')),
  -- The newest mail. Null: the link was handed over.
  mailed_at timestamptz,
  check ((answered_at is null) = (answer is null))
);

create unique index invitations_open on invitations (account_id, email) where answered_at is null;
create index invitations_email on invitations (email);

-- A token has 256 random bits and is not stored; only its SHA-256 is.
create table invitation_links (
  digest bytea primary key check (length(digest) = 32),
  invitation_id uuid not null references invitations on delete cascade,
  -- The link was mailed to the address, or given to its owner by the operator. A link that a member
  -- hands over proves nothing about the address.
  proves_address boolean not null
);

create index invitation_links_invitation on invitation_links (invitation_id);

-- The membership of an invited user exists already.
delete from mails where kind = 'invitation';
alter table mails add column invitation_id uuid references invitations on delete cascade;
alter table mails add constraint mails_invitation
  check ((kind = 'invitation') = (invitation_id is not null));
create index mails_invitation on mails (invitation_id) where invitation_id is not null;

-- The account that the user opened last. Sign-in opens it again.
alter table users add column last_account_id uuid references accounts;
update users u set last_account_id = (
  select account_id from sessions where user_id = u.id order by last_seen_at desc limit 1);

-- When the user first proved to receive mail at the address. Null: the user was made by a link that
-- a member handed over.
alter table users add column address_proven_at timestamptz;
update users set address_proven_at = created_at;
