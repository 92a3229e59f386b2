-- Payments on the spot (x402): one row for each authorization that a payer has signed and we have taken up. Written by the room payments.
-- The row is why a payment is taken once and served again: nothing is sent to the chain before it stands, and what became of it is found
-- here after a crash. `claimed`: being verified and read for. `settling`: may have reached the chain. `unknown`: the answer was lost, or is
-- not final. `settled`: paid. `released`: nothing was sent. `failed`: sent, or meant to be, and certainly not paid.
create table x402_payments (
  -- Of the claim: whoever claims a row anew gives it a new id, and who held it before finds it no more.
  id uuid primary key,
  chain_id integer not null,
  asset text not null check (asset ~ '^0x[0-9a-f]{40}$'),
  payer text not null check (payer ~ '^0x[0-9a-f]{40}$'),
  auth_nonce text not null check (auth_nonce ~ '^0x[0-9a-f]{64}$'),
  signature_hash bytea not null check (length(signature_hash) = 32),
  -- SHA-256 of the URL: what somebody searched for is not kept.
  resource_key bytea not null check (length(resource_key) = 32),
  endpoint text not null check (endpoint in ('score_lookup', 'candidate_lookup', 'candidate_search')),
  -- Atomic units of the asset.
  amount numeric(78, 0) not null check (amount >= 0),
  pay_to text not null check (pay_to ~ '^0x[0-9a-f]{40}$'),
  valid_before timestamptz not null,
  -- One purchase of one payer, however often it signs. Freed when the purchase is old.
  idempotency_key text check (length(idempotency_key) between 16 and 128),
  state text not null check (state in ('claimed', 'settling', 'unknown', 'settled', 'released', 'failed')),
  -- Until then the row is somebody's who works on it.
  lease_until timestamptz not null,
  tx_hash text check (tx_hash ~ '^0x[0-9a-f]{64}$'),
  error_reason text,
  facilitator text not null check (facilitator in ('remote', 'local')),
  -- The signed payment, encrypted: to settle again after an answer was lost. Gone when nothing is open any more.
  sealed_payment bytea,
  claimed_at timestamptz not null,
  state_at timestamptz not null,
  settled_at timestamptz,
  unique (chain_id, asset, payer, auth_nonce),
  check ((state = 'settled') = (settled_at is not null)),
  check (state <> 'settled' or tx_hash is not null),
  check ((state in ('claimed', 'settling', 'unknown')) = (sealed_payment is not null))
) with (fillfactor = 70);

create unique index x402_purchases on x402_payments (payer, idempotency_key)
  where state in ('settling', 'unknown', 'settled') and idempotency_key is not null;
create index x402_payments_open on x402_payments (lease_until) where state in ('settling', 'unknown');
create index x402_payments_settled on x402_payments (settled_at) where state = 'settled';
create index x402_payments_at on x402_payments (state_at);

create function keep_payment_settled() returns trigger language plpgsql as $$
begin
  raise exception 'a settled payment stays settled' using errcode = 'integrity_constraint_violation';
end
$$;

create trigger x402_payments_stay_settled before update on x402_payments
  for each row when (old.state = 'settled' and new.state <> 'settled')
  execute function keep_payment_settled();
