-- The transaction by which the operator gave the money of a payment back. Its answer is not served
-- again from then on.
alter table x402_payments
  add column refund_tx_hash text check (refund_tx_hash ~ '^0x[0-9a-f]{64}$'),
  add column refunded_at timestamptz,
  add check ((refund_tx_hash is null) = (refunded_at is null)),
  add check (refunded_at is null or state = 'settled');
