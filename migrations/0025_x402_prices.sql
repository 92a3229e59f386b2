-- What was asked for paid reads on the spot (x402), and until when a challenge that said so can be paid. Written by the room x402 before it
-- says a price, about once a minute for each process that is asked: a payment of version 1 brings nothing of its challenge back but the
-- amount, and here stands whether we asked for it a short while ago.
create table x402_prices (
  chain_id integer not null,
  asset text not null check (asset ~ '^0x[0-9a-f]{40}$'),
  pay_to text not null check (pay_to ~ '^0x[0-9a-f]{40}$'),
  endpoint text not null check (endpoint in ('score_lookup', 'candidate_lookup', 'candidate_search')),
  -- Atomic units of the asset.
  amount numeric(78, 0) not null check (amount > 0),
  first_posted_at timestamptz not null,
  payable_until timestamptz not null check (payable_until > first_posted_at),
  primary key (chain_id, asset, pay_to, endpoint, amount)
) with (fillfactor = 50);
