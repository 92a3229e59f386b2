-- The request log (decision D51). Only the module request-log writes this table.

-- One row for each call with an API key or a session: which operation, how it ended and what it
-- cost. Never a path value, a query, a body or a header. Rows are written in batches after the
-- response, so a crash may lose the calls of the last quarter of a second.
create table request_log (
  -- Ascending for each account, nearly in the order of time.
  seq bigint generated always as identity,
  at timestamptz not null,
  request_id text not null,
  account_id uuid not null,
  -- Null for a call with a session.
  key_id uuid,
  operation text not null,
  status smallint not null,
  error text,
  credits integer not null,
  duration_us integer not null,
  -- The /24 or /48 of the client.
  network text not null
) partition by range (at);

create index request_log_account on request_log (account_id, seq);
create index request_log_request on request_log (account_id, request_id);

-- Takes rows of a day without its own partition, so that no batch fails for that.
create table request_log_default partition of request_log default;

-- Creates the partition of a day in UTC. Returns false if the partition exists, or if the default
-- partition holds rows of the day.
create function make_request_log_day(of_day date) returns boolean language plpgsql as $$
declare
  partition_name constant text := 'request_log_' || to_char(of_day, 'YYYY_MM_DD');
  day_begin constant timestamptz := of_day::timestamp at time zone 'UTC';
begin
  -- One transaction at a time. The number is "requests" in ASCII.
  perform pg_advisory_xact_lock(8243122697018827891);
  if to_regclass(partition_name) is not null or exists (
    select from request_log_default where at >= day_begin and at < day_begin + interval '1 day'
  ) then
    return false;
  end if;
  execute format(
    'create table %I partition of request_log for values from (%L) to (%L)',
    partition_name, day_begin, day_begin + interval '1 day');
  return true;
end
$$;

-- Removes all days before `first_day`. Returns how many partitions were removed.
create function drop_request_log_days(first_day date) returns integer language plpgsql as $$
declare
  partition_name text;
  dropped integer := 0;
begin
  for partition_name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'request_log'::regclass and c.relname <> 'request_log_default'
      and c.relname < 'request_log_' || to_char(first_day, 'YYYY_MM_DD')
  loop
    execute format('drop table %I', partition_name);
    dropped := dropped + 1;
  end loop;
  delete from request_log_default where at < first_day::timestamp at time zone 'UTC';
  return dropped;
end
$$;
