-- The log of the last minute by runs of grants: a busy key had thousands of times in its row, which was written anew for every batch of its
-- calls. Limits up to 120 a minute still keep every time; above, the grants of one half second are a run, which leaves when its last grant is
-- 60 seconds old. So a window never holds more than its limit, and is at most half a second late in letting somebody in.

alter table rate_windows
  -- The running total of grants at the end of each run, and before the first.
  add column hit_totals integer[] not null default '{}',
  add column hit_base integer not null default 0;
update rate_windows set hit_totals = array(select generate_series(1, cardinality(hits)));
alter table rate_windows
  alter column hit_totals drop default,
  alter column hit_base drop default,
  -- A row of a key that calls all day has 3 kB: compressing it for every batch of calls costs more than the rest.
  set (toast_tuple_target = 8160);

drop function decide_rate(timestamptz[], timestamptz[], integer[], integer, timestamptz, integer, integer, integer);

-- How many of `wanted` calls are granted at `now`, and the windows after that. A call counts for the minute until 60 seconds have
-- passed since the last one of its run, for the day until 24 hours have passed since the end of its quarter hour. What is refused leaves no
-- trace. Below zero, `wanted` takes back the newest grants, for a caller whose other bucket refused. Calls of the future, after the clock was
-- set back, count as calls of now. `now` comes back beside the decision, for the caller passes the clock itself. The limiter inside each
-- process decides by the same rules.
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
  -- Running totals must not grow for ever.
  if hit_base > 1000000000 then
    hit_totals := array(select t - hit_base from unnest(hit_totals) with ordinality as h(t, place) order by place);
    hit_base := 0;
  end if;
  if base > 1000000000 then
    totals := array(select t - base from unnest(totals) with ordinality as q(t, place) order by place);
    base := 0;
  end if;
  minute_total := coalesce(hit_totals[known], hit_base);
  total := coalesce(totals[last], base);

  if wanted < 0 then granted := wanted;
  else granted := greatest(0, least(wanted, per_minute - (minute_total - hit_base), per_day - (total - base)));
  end if;
  if granted = 0 then return; end if;

  minute_total := minute_total + granted;
  if granted < 0 and minute_total = coalesce(hit_totals[known - 1], hit_base) then
    hits := hits[:known - 1];
    hit_totals := hit_totals[:known - 1];
  elsif granted < 0 then
    hit_totals[known] := minute_total;
  elsif hits[known] = now
    or per_minute > 120 and hits[known] >= date_bin('500 milliseconds', now, 'epoch') then
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
