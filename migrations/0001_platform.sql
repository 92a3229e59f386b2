-- Shared by all modules: the trigger function of append-only tables, and the rate limits.
--
-- Reading order of these files: each module has one file, which holds its tables, indexes,
-- functions and triggers. Only that module writes its tables. A constraint stands at the column or
-- table that it protects. After a release a file never changes; a later file adds to the schema.

-- Rejects a change of a row. The trigger decides which change: by its events and its WHEN
-- condition. The argument of the trigger is the message.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '%', tg_argv[0] using errcode = 'integrity_constraint_violation';
end
$$;

-- One row for each rate limit bucket: the granted calls of the last minute and of the last day. Calls
-- of one half second count as one run in the minute, calls of one quarter hour in the day. Every node counts here, under the row lock and by the
-- clock of the database server, so a limit holds for any number of nodes. The limiter writes without
-- waiting for the disk: after a crash of the database the last calls may be forgotten. Half of each
-- page stays free, so that an update stays on its page and touches no index.
create table rate_windows (
  -- The first 128 bits of the SHA-256 of policy and caller.
  bucket uuid primary key,
  -- Times of the runs of the last minute, ascending. The time of a run is that of its last call.
  hits timestamptz[] not null,
  -- The quarter hours of the last day with a granted call, ascending.
  quarters timestamptz[] not null,
  -- Running total of granted calls at the end of each quarter hour, and before the first one.
  totals integer[] not null,
  base integer not null,
  -- The last decision: number of granted calls, the limits, and the time.
  granted integer not null,
  per_minute integer not null,
  per_day integer not null,
  decided_at timestamptz not null,
  -- Running total of granted calls at the end of each run, and before the first one.
  hit_totals integer[] not null,
  hit_base integer not null
-- The row of a busy key has 3 kB. Compressing it on each update would cost more than the rest.
) with (fillfactor = 50, toast_tuple_target = 8160);

-- Decides how many of `wanted` calls are granted at `now`, and returns the windows after that.
-- A call counts for the minute until the last call of its run is 60 seconds old, and for the day
-- until 24 hours after the end of its quarter hour. A rejection may therefore last half a second or
-- 15 minutes longer than needed, and a grant is never too early. Rejected calls leave no trace. A
-- negative `wanted` takes back the newest granted calls, because another bucket of the caller
-- rejected them. If the clock was set back, calls of the future count as calls of now. `now` is
-- returned, because the caller passes the clock itself.
--
-- The steps for the minute and for the day stand one after the other: with functions of their own
-- for both, the database decides 0.5 times as many calls a second.
create function decide_rate(
  inout hits timestamptz[], inout hit_totals integer[], inout hit_base integer,
  inout quarters timestamptz[], inout totals integer[], inout base integer,
  inout now timestamptz, wanted integer, per_minute integer, per_day integer, out granted integer
) language plpgsql stable as $$
declare
  quarter constant timestamptz := date_bin('15 minutes', now, 'epoch');
  known integer := cardinality(hits);
  last integer := cardinality(quarters);
  before integer;
  minute_total integer;
  total integer;
begin
  if hits[known] > now then
    before := width_bucket(now, hits);
    hits := hits[:before] || now;
    hit_totals := hit_totals[:before] || hit_totals[known];
    known := before + 1;
  end if;
  if quarters[last] > quarter then
    before := width_bucket(quarter - interval '1 microsecond', quarters);
    quarters := quarters[:before] || quarter;
    totals := totals[:before] || totals[last];
    last := before + 1;
  end if;

  before := width_bucket(now - interval '60 seconds', hits);
  if before > 0 then
    hit_base := hit_totals[before];
    hits := hits[before + 1:];
    hit_totals := hit_totals[before + 1:];
    known := known - before;
  end if;
  before := width_bucket(quarter - interval '24 hours 15 minutes', quarters);
  if before > 0 then
    base := totals[before];
    quarters := quarters[before + 1:];
    totals := totals[before + 1:];
    last := last - before;
  end if;
  -- Keeps the running totals within 32 bits.
  if hit_base > 1000000000 then
    hit_totals := array(
      select t - hit_base from unnest(hit_totals) with ordinality as h(t, place) order by place);
    hit_base := 0;
  end if;
  if base > 1000000000 then
    totals := array(
      select t - base from unnest(totals) with ordinality as q(t, place) order by place);
    base := 0;
  end if;
  minute_total := coalesce(hit_totals[known], hit_base);
  total := coalesce(totals[last], base);

  if wanted < 0 then granted := wanted;
  else
    granted := greatest(0, least(
      wanted, per_minute - (minute_total - hit_base), per_day - (total - base)));
  end if;
  if granted = 0 then return; end if;

  minute_total := minute_total + granted;
  if granted < 0 and minute_total = coalesce(hit_totals[known - 1], hit_base) then
    hits := hits[:known - 1];
    hit_totals := hit_totals[:known - 1];
  elsif granted < 0 then
    hit_totals[known] := minute_total;
  elsif hits[known] >= date_bin('500 milliseconds', now, 'epoch') then
    hits[known] := now;
    hit_totals[known] := minute_total;
  else
    hits := hits || now;
    hit_totals := hit_totals || minute_total;
  end if;

  total := total + granted;
  if granted < 0 and total = coalesce(totals[last - 1], base) then
    quarters := quarters[:last - 1];
    totals := totals[:last - 1];
  elsif granted < 0 or quarters[last] = quarter then
    totals[last] := total;
  else
    quarters := quarters || quarter;
    totals := totals || total;
  end if;
end
$$;

-- Returns the milliseconds from one time to a later one, rounded up; 0 if there is no later one.
create function rate_ms(from_time timestamptz, to_time timestamptz) returns integer
language sql immutable as $$
  select coalesce(ceil(extract(epoch from to_time - from_time) * 1000), 0)::integer
$$;

-- Cancels a statement that takes from several buckets, unless each bucket granted all its calls. A
-- transaction then decides bucket by bucket.
create function whole_or_none(granted bigint, wanted bigint) returns boolean language plpgsql as $$
begin
  if granted < wanted then
    raise exception 'not all that was wanted is granted' using errcode = 'RL001';
  end if;
  return true;
end
$$;
