-- The identities of users at the OpenID Connect provider (decision D44). Only the module accounts
-- writes this table.

-- The first sign-in matches the verified mail address; every later one matches issuer and subject,
-- so a user keeps the account after a change of the address. A user has one identity at an issuer:
-- another identity that later gets the same address does not sign in as this user.
create table user_identities (
  -- As the provider writes it. The provider never gives a subject to another human being.
  issuer text not null check (octet_length(issuer) between 1 and 1000),
  subject text not null check (octet_length(subject) between 1 and 1000),
  user_id uuid not null references users on delete cascade,
  created_at timestamptz not null,
  primary key (issuer, subject),
  unique (user_id, issuer)
);
