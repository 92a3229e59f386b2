-- Usage by day, so that a page of usage reads no ledger of a hundred thousand entries. Only the
-- module credits writes these tables.

-- The charges and refunds of an account by day in UTC, as far as credit_usage_marks says. They stay
-- when the entries of a month are archived.
create table credit_usage (
  account_id uuid not null,
  day date not null,
  key_id uuid not null,
  meter text not null,
  operation text not null,
  calls integer not null,
  -- Of these, calls that were refunded.
  refunded integer not null,
  -- Credits that were charged and not refunded.
  credits bigint not null,
  primary key (account_id, day, key_id, meter, operation)
);

-- The last entry of an account that credit_usage counts. Entries of an account are committed in the
-- order of `seq`, so every entry up to the mark is counted once.
create table credit_usage_marks (
  account_id uuid primary key,
  seq bigint not null
);
