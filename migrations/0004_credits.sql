-- Credits (decisions D19 and D20). Only the module credits writes these tables. The entries are the
-- truth. A balance is their sum; the statement that writes an entry also changes the balance.

create table credit_accounts (
  account_id uuid primary key references accounts,
  balance bigint not null check (balance >= 0),
  -- Since when the entries of this account are known not to add up to its balance. Nothing is
  -- charged until the operator has resolved it.
  suspended_at timestamptz
) with (fillfactor = 50);

-- Ledger entries name an account without a foreign key, so an account is never deleted.
create trigger credit_accounts_permanent
  before delete or truncate or update of account_id on credit_accounts
  for each statement execute function refuse_change('an account in the ledger is permanent');

-- Double entry with both sides in one row: `delta` goes to the account and comes from the
-- operator's own account of the same kind, either issued (grant, adjustment) or spent (charge,
-- void). So issued = balances + spent.
--
-- Entries are partitioned by month, so that a past month can be archived and the table keeps its
-- size. The partition key is the reference, so `unique (reference)` covers all partitions and no
-- entry is written twice.
--
-- There are no foreign keys to the account and the key: checking both cost half of the time of a
-- charge. The statement that writes an entry has locked the account row, and the key has just been
-- authenticated.
create table credit_entries (
  account_id uuid not null,
  -- Ascending in time for each account, because entries are written under the lock of its row.
  seq bigint generated always as identity,
  kind text not null check (kind in ('grant', 'adjustment', 'charge', 'void')),
  delta bigint not null,
  -- A charge: the month, `2026-11:`, and the request id. A void: the charge and `:void`. An entry
  -- of the operator: `operator:` and the operator's reference.
  reference text collate "C" not null unique check (char_length(reference) between 1 and 200),
  key_id uuid,
  meter text,
  operation text,
  -- The operator's reason.
  reason text check (char_length(reason) between 1 and 500),
  at timestamptz not null default clock_timestamp(),
  check (case kind
    when 'grant' then delta > 0 and reason is not null
    when 'adjustment' then delta <> 0 and reason is not null
    when 'charge' then
      delta < 0 and key_id is not null and meter is not null and operation is not null
    when 'void' then
      delta > 0 and key_id is not null and meter is not null and operation is not null
  end)
) partition by range (reference);

create index credit_entries_account on credit_entries (account_id, seq);

-- Takes entries of a month without its own partition, so that a charge never fails for that.
create table credit_entries_default partition of credit_entries default;
create table credit_entries_operator partition of credit_entries
  for values from ('operator:') to ('operator;');

-- A statement trigger fires only for the table that the statement names, so each partition has one.
create trigger credit_entries_append_only before update or delete or truncate on credit_entries
  for each statement execute function refuse_change('the ledger is append-only');
create trigger credit_entries_append_only
  before update or delete or truncate on credit_entries_default
  for each statement execute function refuse_change('the ledger is append-only');
create trigger credit_entries_append_only
  before update or delete or truncate on credit_entries_operator
  for each statement execute function refuse_change('the ledger is append-only');

-- Archived months. Their entries are in a file of the operator and no longer in the database.
create table credit_archives (
  -- The first day of the month.
  month date primary key check (extract(day from month) = 1),
  entries bigint not null check (entries > 0),
  -- Sum of the entries.
  delta bigint not null,
  file_sha256 bytea not null check (length(file_sha256) = 32),
  archived_at timestamptz not null
);

-- Sum of the archived entries of each account. An audit continues from it.
create table credit_archived_sums (
  account_id uuid not null,
  month date not null references credit_archives,
  entries bigint not null check (entries > 0),
  delta bigint not null,
  primary key (account_id, month)
);

create trigger credit_archives_append_only before update or delete or truncate on credit_archives
  for each statement execute function refuse_change('the ledger is append-only');
create trigger credit_archived_sums_append_only
  before update or delete or truncate on credit_archived_sums
  for each statement execute function refuse_change('the ledger is append-only');

-- Creates the partition of a month. Returns false if the partition exists, if the month is
-- archived, or if the default partition holds more than `moved_max` entries of the month. Up to
-- that number, it moves them. Around the current month, entries may be on their way into the
-- default partition: the function then blocks all writers until the transaction ends, so set a
-- short lock_timeout.
create function make_credit_month(of_month date, moved_max bigint) returns boolean
language plpgsql as $$
declare
  partition_name constant text := 'credit_entries_' || to_char(of_month, 'YYYY_MM');
  first_reference constant text := to_char(of_month, 'YYYY-MM') || ':';
  end_reference constant text := to_char(of_month, 'YYYY-MM') || ';';
begin
  -- One transaction at a time. The number is "credits" in ASCII.
  perform pg_advisory_xact_lock(29101862186283123);
  if to_regclass(partition_name) is not null
    or exists (select from credit_archives where month = of_month) then
    return false;
  end if;
  if now() >= of_month - interval '1 day' and now() < of_month + interval '1 month 1 day' then
    lock table credit_entries in access exclusive mode;
  end if;
  if (select count(*) from (
    select from credit_entries_default
    where reference >= first_reference and reference < end_reference limit moved_max + 1
  ) counted) > moved_max then
    return false;
  end if;
  execute format(
    'create table %I (like credit_entries including defaults including constraints '
    'including indexes)',
    partition_name);
  if exists (
    select from credit_entries_default
    where reference >= first_reference and reference < end_reference
  ) then
    alter table credit_entries_default disable trigger credit_entries_append_only;
    execute format('
      with moved as (
        delete from credit_entries_default where reference >= $1 and reference < $2 returning *)
      insert into %I select * from moved', partition_name) using first_reference, end_reference;
    alter table credit_entries_default enable trigger credit_entries_append_only;
  end if;
  execute format(
    'alter table credit_entries attach partition %I for values from (%L) to (%L)',
    partition_name, first_reference, end_reference);
  execute format('
    create trigger credit_entries_append_only before update or delete or truncate on %I
      for each statement execute function refuse_change(%L)',
    partition_name, 'the ledger is append-only');
  return true;
end
$$;

-- Blocks new entries of a month until the transaction ends. Returns false if the month has no
-- partition.
create function lock_credit_month(of_month date) returns boolean language plpgsql as $$
declare
  partition_name constant text := 'credit_entries_' || to_char(of_month, 'YYYY_MM');
begin
  if to_regclass(partition_name) is null then return false; end if;
  execute format('lock table %I in share mode', partition_name);
  return true;
end
$$;

-- Deletes the entries of an archived month. Call it in the transaction that locked and recorded the
-- month, with a short lock_timeout: it blocks all writers until that transaction ends.
create function drop_credit_month(of_month date) returns void language plpgsql as $$
declare
  partition_name constant text := 'credit_entries_' || to_char(of_month, 'YYYY_MM');
begin
  if not exists (select from credit_archives where month = of_month) then
    raise exception 'the month is not archived' using errcode = 'integrity_constraint_violation';
  end if;
  execute format('alter table credit_entries detach partition %I', partition_name);
  execute format('drop table %I', partition_name);
end
$$;

-- The entry up to which an audit found the account correct, and the balance there. The next audit
-- continues from it.
create table credit_audits (
  account_id uuid primary key references credit_accounts,
  through_seq bigint not null,
  balance bigint not null,
  audited_at timestamptz not null
);

-- Paid calls with an Idempotency-Key: within a day the same request is not charged again. Only a
-- digest of the Idempotency-Key is stored.
create table credit_purchases (
  account_id uuid not null references credit_accounts,
  key_sha256 bytea not null check (length(key_sha256) = 32),
  fingerprint bytea not null check (length(fingerprint) = 32),
  charged_at timestamptz not null,
  primary key (account_id, key_sha256)
);
