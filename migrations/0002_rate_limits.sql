-- Rate limits (decision D11): a row for each bucket, with an exact log of the last minute and counters for the day. Every node counts
-- here, under the row's lock and by this server's clock, so a limit holds for any number of nodes.

-- Written and read by the rate limiter alone, without waiting for the disk: a crash of this server may forget the last calls.
-- Half of each page stays free, so that an update finds room beside its row and touches no index.
create table rate_windows (
  -- The first 128 bits of SHA-256 over policy and network: one size, whatever their names.
  bucket uuid primary key,
  -- When the calls of the last minute were granted, ascending.
  hits timestamptz[] not null,
  -- The quarter hours of the last day with a grant, ascending, and the running total of grants at the end of each; `base` is the
  -- running total before the first. What lies between two quarters is a difference: nothing is ever summed up.
  quarters timestamptz[] not null,
  totals integer[] not null,
  base integer not null,
  -- The last decision: how many it granted, under which limits, and when.
  granted integer not null,
  per_minute integer not null,
  per_day integer not null,
  decided_at timestamptz not null
) with (fillfactor = 50);

-- How many of `wanted` calls are granted at `now`, and the windows after that. A call counts for the minute until 60 seconds have
-- passed, for the day until 24 hours have passed since the end of its quarter hour. What is refused leaves no trace. Below zero,
-- `wanted` takes back the newest grants, for a caller whose other bucket refused. Calls of the future, after the clock was set
-- back, count as calls of now. `now` comes back beside the decision, for the caller passes the clock itself. The limiter inside each process decides by the same rules.
create function decide_rate(
  inout hits timestamptz[], inout quarters timestamptz[], inout totals integer[], inout base integer,
  inout now timestamptz, wanted integer, per_minute integer, per_day integer, out granted integer
) language plpgsql stable as $$
declare
  quarter constant timestamptz := date_bin('15 minutes', now, 'epoch');
  known integer := cardinality(hits);
  last integer := cardinality(quarters);
  before integer;
  total integer;
begin
  if hits[known] > now then
    before := width_bucket(now, hits);
    hits := hits[:before] || array_fill(now, array[known - before]);
  end if;
  if quarters[last] > quarter then
    before := width_bucket(quarter - interval '1 microsecond', quarters);
    quarters := quarters[:before] || quarter;
    totals := totals[:before] || totals[last];
    last := before + 1;
  end if;

  before := width_bucket(now - interval '60 seconds', hits);
  if before > 0 then
    hits := hits[before + 1:];
    known := known - before;
  end if;
  before := width_bucket(quarter - interval '24 hours 15 minutes', quarters);
  if before > 0 then
    base := totals[before];
    quarters := quarters[before + 1:];
    totals := totals[before + 1:];
    last := last - before;
  end if;
  total := coalesce(totals[last], base);

  if wanted < 0 then
    granted := wanted;
    hits := hits[:known + wanted];
  else
    granted := greatest(0, least(wanted, per_minute - known, per_day - (total - base)));
    if granted > 0 then hits := hits || array_fill(now, array[granted]); end if;
  end if;
  if granted = 0 then return; end if;

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

-- Milliseconds from one time to a later one, rounded up; 0 where there is none.
create function rate_ms(from_time timestamptz, to_time timestamptz) returns integer language sql immutable as
$$ select coalesce(ceil(extract(epoch from to_time - from_time) * 1000), 0)::integer $$;
