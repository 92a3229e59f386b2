-- A purchase that a payer has named is one of its chain: what was bought with coins of a test network is not paid for on another.
drop index x402_purchases;
create unique index x402_purchases on x402_payments (chain_id, payer, idempotency_key)
  where state in ('settling', 'unknown', 'settled') and idempotency_key is not null;
