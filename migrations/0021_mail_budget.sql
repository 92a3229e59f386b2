-- The mail budget: limits over all kinds of mail (decisions D45 and D47). Only the module accounts
-- writes these tables.

-- Times of the mails that count against one limit: an exact sliding window. A bucket is the digest
-- of its name, such as a mail address together with a network, so it holds no address.
create table mail_budget (
  bucket bytea primary key check (length(bucket) = 32),
  spent_at timestamptz[] not null default '{}'
);

-- The requests of the last hour start anew.
drop table sign_in_limits;

-- The networks from which a user has signed in, without the last bits of the address. Mails that are
-- requested from such a network have a budget of their own, which a stranger cannot use up.
create table user_networks (
  user_id uuid not null references users on delete cascade,
  network text not null check (char_length(network) between 1 and 60),
  signed_in_at timestamptz not null,
  primary key (user_id, network)
);

create index user_networks_old on user_networks (signed_in_at);

insert into user_networks (user_id, network, signed_in_at)
select user_id, network, max(created_at) from sessions group by user_id, network;
