-- Payments per request (decision D22). Only the module x402 writes these tables.

-- One row for each signed payment authorization that the service has accepted for settlement.
-- Nothing is sent to the chain before the row is committed, so an authorization is used once, and a
-- restarted process finds its state here.
create table x402_payments (
  -- Id of the claim. A process that claims the row again gives it a new id; the previous process
  -- then finds no row under its own id.
  id uuid primary key,
  chain_id integer not null,
  asset text not null check (asset ~ '^0x[0-9a-f]{40}$'),
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  auth_nonce text not null check (auth_nonce ~ '^0x[0-9a-f]{64}$'),
  signature_hash bytea not null check (length(signature_hash) = 32),
  -- SHA-256 of the URL, so that search terms are not stored.
  resource_key bytea not null check (length(resource_key) = 32),
  endpoint text not null check (
    endpoint in ('score_lookup', 'candidate_lookup', 'candidate_search')),
  -- In atomic units of the asset.
  amount numeric(78, 0) not null check (amount >= 0),
  pay_to text not null check (pay_to ~ '^0x[0-9a-f]{40}$'),
  valid_before timestamptz not null,
  -- Names one purchase of the payer, however many authorizations the payer signs for it. Removed
  -- when the purchase is old.
  idempotency_key text check (length(idempotency_key) between 16 and 128),
  -- `settling`: may have reached the chain. `unknown`: the facilitator's answer was lost or is not
  -- final. `settled`: paid. `released`: nothing was sent. `failed`: certainly not paid.
  state text not null check (state in ('settling', 'unknown', 'settled', 'released', 'failed')),
  -- Until then one process works on the row.
  lease_until timestamptz not null,
  tx_hash text check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  error_reason text,
  facilitator text not null check (facilitator in ('remote', 'local')),
  -- The signed payment, encrypted, to settle again after an answer was lost. Removed when the
  -- payment is no longer open.
  sealed_payment bytea,
  claimed_at timestamptz not null,
  state_at timestamptz not null,
  settled_at timestamptz,
  -- When the jobs process found the payment on the chain although the payer's request had ended:
  -- paid and perhaps not served. Null again once the payer has fetched the answer.
  found_at timestamptz check (found_at is null or state = 'settled'),
  unique (chain_id, asset, payer, auth_nonce),
  check ((state = 'settled') = (settled_at is not null)),
  check (state <> 'settled' or tx_hash is not null),
  check ((state in ('settling', 'unknown')) = (sealed_payment is not null))
) with (fillfactor = 70);

-- A named purchase belongs to one chain: a payment with coins of a test network does not count on
-- another chain.
create unique index x402_purchases on x402_payments (chain_id, payer, idempotency_key)
  where state in ('settling', 'unknown', 'settled') and idempotency_key is not null;
create index x402_payments_open on x402_payments (lease_until)
  where state in ('settling', 'unknown');
create index x402_payments_settled on x402_payments (settled_at) where state = 'settled';
create index x402_payments_at on x402_payments (state_at);
create index x402_payments_found on x402_payments (found_at) where found_at is not null;

create trigger x402_payments_settled_final before update on x402_payments
  for each row when (old.state = 'settled' and new.state <> 'settled')
  execute function refuse_change('a settled payment stays settled');

-- Price history: each price that the service has asked for, and until when it can be paid. Written
-- before a payment challenge is sent, about once a minute for each process. A payment of protocol
-- version 1 repeats nothing of its challenge but the amount; this table tells whether the amount
-- was asked for a short while ago.
create table x402_prices (
  chain_id integer not null,
  asset text not null check (asset ~ '^0x[0-9a-f]{40}$'),
  pay_to text not null check (pay_to ~ '^0x[0-9a-f]{40}$'),
  endpoint text not null check (
    endpoint in ('score_lookup', 'candidate_lookup', 'candidate_search')),
  -- In atomic units of the asset.
  amount numeric(78, 0) not null check (amount > 0),
  first_posted_at timestamptz not null,
  payable_until timestamptz not null check (payable_until > first_posted_at),
  primary key (chain_id, asset, pay_to, endpoint, amount)
) with (fillfactor = 50);
