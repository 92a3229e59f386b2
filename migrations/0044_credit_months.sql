-- The entries of the books by month, so that a month that is over can be archived and the table stays as large as the months that are kept.
--
-- The partition key is the reference. A unique key must contain it, and so `unique (reference)` still covers all entries: nothing is entered
-- twice, in whatever month. A charge names its month, `2026-11:` and the request id, and a void the charge and `:void`. What an operator
-- enters, `operator:`, is in no month: its reference is unique for ever.
--
-- Processes of the release before go on: table and columns keep their names, `on conflict (reference)` its key, and the references that these
-- processes make, which name no month, are in the default partition.

alter table credit_entries rename to credit_entries_before;
alter table credit_entries_before rename constraint credit_entries_reference_key to credit_entries_before_key;
alter index credit_entries_pkey rename to credit_entries_before_pkey;
alter sequence credit_entries_seq_seq rename to credit_entries_before_seq_seq;
drop trigger credit_entries_only_grow on credit_entries_before;

create table credit_entries (
  account_id uuid not null,
  -- Of one account in the order of time: entries are written under the lock of its row.
  seq bigint generated always as identity,
  kind text not null constraint credit_entries_kind_check check (kind in ('grant', 'adjustment', 'charge', 'void')),
  delta bigint not null,
  reference text collate "C" not null constraint credit_entries_reference_check check (char_length(reference) between 1 and 200),
  key_id uuid,
  meter text,
  operation text,
  -- The operator's words.
  reason text constraint credit_entries_reason_check check (char_length(reason) between 1 and 500),
  at timestamptz not null default clock_timestamp(),
  constraint credit_entries_check check (case kind
    when 'grant' then delta > 0 and reason is not null
    when 'adjustment' then delta <> 0 and reason is not null
    when 'charge' then delta < 0 and key_id is not null and meter is not null and operation is not null
    when 'void' then delta > 0 and key_id is not null and meter is not null and operation is not null
  end)
) partition by range (reference);

-- Empty unless a month has no partition of its own: a charge never fails for that.
create table credit_entries_default partition of credit_entries default;
create table credit_entries_operator partition of credit_entries for values from ('operator:') to ('operator;');

create trigger credit_entries_only_grow before update or delete or truncate on credit_entries
  for each statement execute function keep_credit_entries();
-- A trigger of a statement fires for the table that the statement names alone.
create trigger credit_entries_only_grow before update or delete or truncate on credit_entries_default
  for each statement execute function keep_credit_entries();
create trigger credit_entries_only_grow before update or delete or truncate on credit_entries_operator
  for each statement execute function keep_credit_entries();

-- Months whose entries are in a file of the operator's, and no longer here.
create table credit_archives (
  -- Its first day.
  month date primary key check (extract(day from month) = 1),
  entries bigint not null check (entries > 0),
  -- What they add up to.
  delta bigint not null,
  file_sha256 bytea not null check (length(file_sha256) = 32),
  archived_at timestamptz not null
);

-- What the archived entries of an account add up to: an audit goes on from there.
create table credit_archived_sums (
  account_id uuid not null,
  month date not null references credit_archives,
  entries bigint not null check (entries > 0),
  delta bigint not null,
  primary key (account_id, month)
);

create trigger credit_archives_only_grow before update or delete or truncate on credit_archives
  for each statement execute function keep_credit_entries();
create trigger credit_archived_sums_only_grow before update or delete or truncate on credit_archived_sums
  for each statement execute function keep_credit_entries();

-- Makes the partition of a month; false where it is there, or the month is archived. Entries that came before it are moved from the default
-- partition, unless there are more than `moved_max`. While a month goes on, entries of it may be on their way to the default partition: then
-- nobody enters anything until the partition stands, so call it with a short lock_timeout.
create function make_credit_month(of_month date, moved_max bigint) returns boolean language plpgsql as $$
declare
  partition_name constant text := 'credit_entries_' || to_char(of_month, 'YYYY_MM');
  first_reference constant text := to_char(of_month, 'YYYY-MM') || ':';
  end_reference constant text := to_char(of_month, 'YYYY-MM') || ';';
begin
  -- One at a time: "credits" as a number.
  perform pg_advisory_xact_lock(29101862186283123);
  if to_regclass(partition_name) is not null or exists (select from credit_archives where month = of_month) then
    return false;
  end if;
  if now() >= of_month - interval '1 day' and now() < of_month + interval '1 month 1 day' then
    lock table credit_entries in access exclusive mode;
  end if;
  if (select count(*) from (
    select from credit_entries_default
    where reference >= first_reference and reference < end_reference limit moved_max + 1) counted) > moved_max then
    return false;
  end if;
  execute format('create table %I (like credit_entries including defaults including constraints including indexes)', partition_name);
  if exists (select from credit_entries_default where reference >= first_reference and reference < end_reference) then
    alter table credit_entries_default disable trigger credit_entries_only_grow;
    execute format('
      with moved as (delete from credit_entries_default where reference >= $1 and reference < $2 returning *)
      insert into %I select * from moved', partition_name) using first_reference, end_reference;
    alter table credit_entries_default enable trigger credit_entries_only_grow;
  end if;
  execute format('alter table credit_entries attach partition %I for values from (%L) to (%L)',
    partition_name, first_reference, end_reference);
  execute format('
    create trigger credit_entries_only_grow before update or delete or truncate on %I
      for each statement execute function keep_credit_entries()', partition_name);
  return true;
end
$$;

-- Nothing is entered in a month from now to the end of the transaction; false where it has no partition.
create function lock_credit_month(of_month date) returns boolean language plpgsql as $$
declare
  partition_name constant text := 'credit_entries_' || to_char(of_month, 'YYYY_MM');
begin
  if to_regclass(partition_name) is null then return false; end if;
  execute format('lock table %I in share mode', partition_name);
  return true;
end
$$;

-- Takes the entries of an archived month out of the books. Call it in the transaction that locked and recorded the month, with a short
-- lock_timeout: nobody enters anything until that ends.
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

-- What was entered in the last hour keeps its reference: a server of the release before may still give it back by that.
do $$
declare
  of_month date;
begin
  for of_month in
    select distinct date_trunc('month', at at time zone 'UTC')::date from credit_entries_before
    where kind in ('charge', 'void') and at < now() - interval '1 hour' order by 1
  loop
    perform make_credit_month(of_month, 0);
  end loop;
end
$$;

insert into credit_entries (account_id, seq, kind, delta, reference, key_id, meter, operation, reason, at)
overriding system value
select account_id, seq, kind, delta,
  case when kind in ('charge', 'void') and at < now() - interval '1 hour'
    then to_char(at at time zone 'UTC', 'YYYY-MM:') || regexp_replace(reference, '^void:', '')
      || case kind when 'void' then ':void' else '' end
    else reference end,
  key_id, meter, operation, reason, at
from credit_entries_before;

alter table credit_entries add constraint credit_entries_reference_key unique (reference);
create index credit_entries_account on credit_entries (account_id, seq);

do $$
declare
  granted record;
begin
  perform setval(pg_get_serial_sequence('credit_entries', 'seq'), (select coalesce(max(seq), 0) from credit_entries) + 1, false);
  for granted in
    select g.privilege_type, case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end as grantee
    from pg_class c cross join lateral aclexplode(c.relacl) g
    where c.oid = 'credit_entries_before'::regclass and g.grantee <> c.relowner
  loop
    execute format('grant %s on credit_entries to %s', granted.privilege_type, granted.grantee);
  end loop;
end
$$;

drop table credit_entries_before;
