-- Credits (decisions D19, D20). Written by the room payments alone. The entries are the truth; a balance is their sum, changed in the
-- statement that writes the entry, and never negative.

create table credit_accounts (
  account_id uuid primary key references accounts,
  balance bigint not null check (balance >= 0),
  -- Since when the books of this account are known not to add up: nothing is charged until somebody has looked.
  suspended_at timestamptz
) with (fillfactor = 50);

-- Double entry, both sides in one row: `delta` goes to the account, and comes from the house's own account of that kind: what was
-- issued (grant, adjustment) or what was spent (charge, void). So issued = balances + spent, always.
create table credit_entries (
  account_id uuid not null references credit_accounts,
  -- Of one account in the order of time: entries are written under the lock of its row.
  seq bigint generated always as identity,
  kind text not null check (kind in ('grant', 'adjustment', 'charge', 'void')),
  delta bigint not null,
  -- Of a charge the request id; of a void `void:` and that; of what an operator entered `operator:` and a name of theirs.
  reference text collate "C" not null unique check (char_length(reference) between 1 and 200),
  key_id uuid references api_keys,
  meter text,
  operation text,
  -- The operator's words.
  reason text check (char_length(reason) between 1 and 500),
  at timestamptz not null default clock_timestamp(),
  primary key (account_id, seq),
  check (case kind
    when 'grant' then delta > 0 and reason is not null
    when 'adjustment' then delta <> 0 and reason is not null
    when 'charge' then delta < 0 and key_id is not null and meter is not null and operation is not null
    when 'void' then delta > 0 and key_id is not null and meter is not null and operation is not null
  end)
);

create function keep_credit_entries() returns trigger language plpgsql as $$
begin
  raise exception 'the books are only ever added to' using errcode = 'integrity_constraint_violation';
end
$$;

create trigger credit_entries_only_grow before update or delete or truncate on credit_entries
  for each statement execute function keep_credit_entries();

-- Up to which entry the books of an account were found to add up, and to what: an audit goes on from there.
create table credit_audits (
  account_id uuid primary key references credit_accounts,
  through_seq bigint not null,
  balance bigint not null,
  audited_at timestamptz not null
);

-- Purchases under an Idempotency-Key: within a day the same request is not charged again. A digest of the key is kept, not the key.
create table credit_purchases (
  account_id uuid not null references credit_accounts,
  key_sha256 bytea not null check (length(key_sha256) = 32),
  fingerprint bytea not null check (length(fingerprint) = 32),
  charged_at timestamptz not null,
  primary key (account_id, key_sha256)
);
