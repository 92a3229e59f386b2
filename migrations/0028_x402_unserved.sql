-- A payment that a worker found on the chain after its payer had gone: paid, and perhaps never served. Until the payer comes back for it.
alter table x402_payments
  add column found_at timestamptz,
  add check (found_at is null or state = 'settled');

create index x402_payments_found on x402_payments (found_at) where found_at is not null;
