-- All migrations together. Written by `npm run generate`, never by hand.

set check_function_bodies = off;

create type match_kind as enum ('handle_and_skills', 'handle', 'skills', 'skill', 'name', 'title', 'bare_skills', 'bare_skill', 'bare_name', 'bare_title');

create sequence webhook_event_positions as bigint increment 1 minvalue 1 maxvalue 9223372036854775807 start 1 cache 1;

CREATE OR REPLACE FUNCTION public.decide_rate(INOUT hits timestamp with time zone[], INOUT hit_totals integer[], INOUT hit_base integer, INOUT quarters timestamp with time zone[], INOUT totals integer[], INOUT base integer, INOUT now timestamp with time zone, wanted integer, per_minute integer, per_day integer, OUT granted integer)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
AS $function$
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
$function$;
CREATE OR REPLACE FUNCTION public.drop_credit_month(of_month date)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  partition_name constant text := 'credit_entries_' || to_char(of_month, 'YYYY_MM');
begin
  if not exists (select from credit_archives where month = of_month) then
    raise exception 'the month is not archived' using errcode = 'integrity_constraint_violation';
  end if;
  execute format('alter table credit_entries detach partition %I', partition_name);
  execute format('drop table %I', partition_name);
end
$function$;
CREATE OR REPLACE FUNCTION public.drop_request_log_days(first_day date)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
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
$function$;
CREATE OR REPLACE FUNCTION public.is_recomputation_due(since timestamp with time zone, imports uuid[], running uuid[], at_time timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select since <= at_time - interval '10 minutes' or not imports && running
$function$;
CREATE OR REPLACE FUNCTION public.lock_credit_month(of_month date)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
declare
  partition_name constant text := 'credit_entries_' || to_char(of_month, 'YYYY_MM');
begin
  if to_regclass(partition_name) is null then return false; end if;
  execute format('lock table %I in share mode', partition_name);
  return true;
end
$function$;
CREATE OR REPLACE FUNCTION public.make_credit_month(of_month date, moved_max bigint)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
$function$;
CREATE OR REPLACE FUNCTION public.make_request_log_day(of_day date)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
$function$;
CREATE OR REPLACE FUNCTION public.notice_hidden()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from changed) then
    raise notice 'a public read shows less' using errcode = 'HIDES';
  end if;
  return null;
end $function$;
CREATE OR REPLACE FUNCTION public.notice_hidden_profile()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from changed join readable_profiles using (worker_id)) then
    raise notice 'a public profile shows less' using errcode = 'HIDES';
  end if;
  return null;
end $function$;
CREATE OR REPLACE FUNCTION public.notice_revoked_key()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise notice 'a signing key is revoked' using errcode = 'HIDES';
  return null;
end $function$;
CREATE OR REPLACE FUNCTION public.rate_ms(from_time timestamp with time zone, to_time timestamp with time zone)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(ceil(extract(epoch from to_time - from_time) * 1000), 0)::integer
$function$;
CREATE OR REPLACE FUNCTION public.readable_on_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  worker_ids uuid[] := array(select distinct worker_id from changed);
begin
  if tg_op = 'INSERT' then worker_ids := without_new_workers(worker_ids); end if;
  if cardinality(worker_ids) > 0 then perform readable_refresh(worker_ids); end if;
  return null;
end
$function$;
CREATE OR REPLACE FUNCTION public.readable_on_onboarding()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  worker_ids uuid[] := array(
    select after.id from changed after join unchanged before using (id)
    where after.onboarded_at is distinct from before.onboarded_at);
begin
  if cardinality(worker_ids) > 0 then perform readable_refresh(worker_ids); end if;
  return null;
end
$function$;
CREATE OR REPLACE FUNCTION public.readable_refresh(worker_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  perform from workers where id = any(worker_ids) order by id for no key update;
  delete from readable_scores r where r.worker_id = any(worker_ids)
    and not exists (select from gate_scores g where g.worker_id = r.worker_id
      and g.snapshot_id = r.snapshot_id and g.verified_until = r.verified_until);
  delete from readable_profiles r where r.worker_id = any(worker_ids)
    and not exists (select from gate_profiles g
      where g.worker_id = r.worker_id and g.username = r.username);
  insert into readable_profiles (worker_id, username)
    select worker_id, username from gate_profiles where worker_id = any(worker_ids)
    on conflict (worker_id) do nothing;
  insert into readable_scores (worker_id, snapshot_id, verified_until)
    select worker_id, snapshot_id, verified_until from gate_scores
    where worker_id = any(worker_ids)
    on conflict (worker_id) do nothing;
end
$function$;
CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '%', tg_argv[0] using errcode = 'integrity_constraint_violation';
end
$function$;
CREATE OR REPLACE FUNCTION public.search_begins(of_kind match_kind, prefix text, after_rank smallint, after_username text, hits_max integer, sorted_max integer)
 RETURNS TABLE(rank smallint, username text)
 LANGUAGE sql
 STABLE
AS $function$
  select hit.rank, hit.username
  from (
    select length(prefix) = 2 or exists (
      select from search_terms t
      where t.kind = of_kind and t.term >= prefix and t.term < prefix || chr(1114111)
      offset sorted_max) as many
    offset 0
  ) matches cross join lateral (
    (select t.rank, t.username from search_terms t
      where not matches.many
        and t.kind = of_kind and t.term >= prefix and t.term < prefix || chr(1114111)
        and (t.rank, t.username) > (after_rank, after_username)
      order by t.rank, t.username limit hits_max)
    union all
    (select t.rank, t.username from search_terms t
      where matches.many and left(t.term, 2) = left(prefix, 2)
        and t.kind = of_kind and t.term >= prefix and t.term < prefix || chr(1114111)
        and (t.rank, t.username) > (after_rank, after_username)
      order by t.rank, t.username limit hits_max)
  ) hit
$function$;
CREATE OR REPLACE FUNCTION public.search_candidates(queries text[], handles_only boolean[], limits integer[], exact_labels text[], prefix_labels text[], extra integer DEFAULT 24, sorted_max integer DEFAULT 512)
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  results text[] := array_fill(null::text, array[cardinality(queries)]);
  unanswered integer[] := array(select generate_subscripts(queries, 1));
  answered record;
begin
  while cardinality(unanswered) > 0 loop
    for answered in
      select search.place, (
          select coalesce(string_agg((
            select e.hit from search_entries e where e.username = named.username), ','), '')
          from unnest(found.usernames) as named(username)) as hits
      from unnest(unanswered) as search(place)
      cross join lateral (
        select
          queries[search.place] as query,
          length(queries[search.place]) > 1 as by_prefix,
          handles_only[search.place] as only_handles,
          limits[search.place] as hits_wanted,
          limits[search.place] + extra as hits_max,
          exact_labels[search.place] as exact_labels,
          prefix_labels[search.place] as prefix_labels
        offset 0
      ) s
      cross join lateral (
        select
          (array_agg(candidate.username order by candidate.place))[1:s.hits_wanted] as usernames,
          count(*) as candidates,
          sum(candidate.matches) as matches
        from (
          select match.username, min(match.place) as place, count(*) as matches
          from (
            -- The kinds of match, best first. A kind is read only if those above it returned too
            -- few matches.
            select row_number() over () as place, m.username from (
              select e.username from search_entries e where e.username = s.query
              union all
              select m.username from search_handle_letter(
                letter => s.query, hits_max => s.hits_max) m
              where s.only_handles and length(s.query) = 1
              union all
              select m.username from search_prefix(
                of_kind => 'handle_and_skills', prefix => s.query,
                hits_max => s.hits_max, sorted_max => sorted_max) m
              where s.by_prefix and not s.only_handles
              union all
              select m.username from search_handle_prefix(
                prefix => s.query, hits_max => s.hits_max) m
              where s.by_prefix
              union all
              select m.username from search_skill_name(
                of_kind => 'skills', query => s.query,
                exact_labels => s.exact_labels, hits_max => s.hits_max) m
              where not s.only_handles
              union all
              select m.username from search_skill_name(
                of_kind => 'skill', query => s.query,
                exact_labels => s.exact_labels, hits_max => s.hits_max) m
              where not s.only_handles
              union all
              select m.username from search_skill_prefix(
                of_kind => 'skills', prefix => s.query, prefix_labels => s.prefix_labels,
                hits_max => s.hits_max, sorted_max => sorted_max) m
              where s.by_prefix and not s.only_handles
              union all
              select m.username from search_skill_prefix(
                of_kind => 'skill', prefix => s.query, prefix_labels => s.prefix_labels,
                hits_max => s.hits_max, sorted_max => sorted_max) m
              where s.by_prefix and not s.only_handles
              union all
              select m.username from search_prefix(
                of_kind => 'name', prefix => s.query,
                hits_max => s.hits_max, sorted_max => sorted_max) m
              where s.by_prefix and not s.only_handles
              union all
              select m.username from search_prefix(
                of_kind => 'title', prefix => s.query,
                hits_max => s.hits_max, sorted_max => sorted_max) m
              where s.by_prefix and not s.only_handles
            ) m limit s.hits_max
          ) match
          group by match.username
        ) candidate
      ) found
      -- Answered: no match is left to read, or enough candidates were found.
      where found.matches is null or found.matches < s.hits_max
        or found.candidates >= s.hits_wanted
    loop
      results[answered.place] := '[' || answered.hits || ']';
    end loop;
    unanswered := array(
      select place from unnest(results) with ordinality as r(hits, place) where r.hits is null);
    extra := extra * 8;
  end loop;
  return query select unnest(results);
end
$function$;
CREATE OR REPLACE FUNCTION public.search_handle_initial(letter text, after_rank smallint, after_username text, hits_max integer)
 RETURNS TABLE(rank smallint, username text)
 LANGUAGE sql
 STABLE
AS $function$
  select hit.rank, hit.username
  from string_to_table('0123456789abcdefghijklmnopqrstuvwxyz_-', null) as second_letter
  cross join lateral (
    select t.rank, t.username from search_terms t
    where left(t.term, 2) = letter || second_letter and t.kind = 'handle'
      and (t.rank, t.username) > (after_rank, after_username)
    order by t.rank, t.username limit hits_max
  ) hit
  order by hit.rank, hit.username limit hits_max
$function$;
CREATE OR REPLACE FUNCTION public.search_handle_letter(letter text, hits_max integer)
 RETURNS TABLE(username text)
 LANGUAGE sql
 STABLE
AS $function$
  select hit.username
  from string_to_table('0123456789abcdefghijklmnopqrstuvwxyz_-', null) as second_letter
  cross join lateral (
    select t.rank, t.username from search_terms t
    where left(t.term, 2) = letter || second_letter and t.kind = 'handle'
    order by t.rank, t.username limit hits_max
  ) hit
  order by hit.rank, hit.username limit hits_max
$function$;
CREATE OR REPLACE FUNCTION public.search_handle_prefix(prefix text, hits_max integer)
 RETURNS TABLE(username text)
 LANGUAGE sql
 STABLE
AS $function$
  select t.username from search_terms t
  where left(t.term, 2) = left(prefix, 2) and t.kind = 'handle'
    and t.username >= prefix and t.username < prefix || chr(1114111)
    and exists (
      select from search_terms h
      where h.kind = 'handle' and h.term >= prefix and h.term < prefix || chr(1114111))
  order by t.rank, t.username limit hits_max
$function$;
CREATE OR REPLACE FUNCTION public.search_handles(prefix text, after_rank smallint, after_username text, hits_max integer)
 RETURNS TABLE(rank smallint, username text)
 LANGUAGE sql
 STABLE
AS $function$
  select t.rank, t.username from search_terms t
  where left(t.term, 2) = left(prefix, 2) and t.kind = 'handle'
    and t.username >= prefix and t.username < prefix || chr(1114111)
    and (t.rank, t.username) > (after_rank, after_username)
    and exists (
      select from search_terms h
      where h.kind = 'handle' and h.term >= prefix and h.term < prefix || chr(1114111))
  order by t.rank, t.username limit hits_max
$function$;
CREATE OR REPLACE FUNCTION public.search_live(kinds match_kind[], texts text, probe boolean)
 RETURNS TABLE(texts text[])
 LANGUAGE sql
 STABLE
AS $function$
  select array(
    select text from (select unnest(string_to_array(texts, E'\n')) as text) begun
    where not probe or exists (
      select from search_terms t
      where t.kind = any(kinds) and t.term >= text and t.term < text || chr(1114111)))
  offset 0
$function$;
CREATE OR REPLACE FUNCTION public.search_on_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  worker_ids uuid[] := array(select distinct worker_id from changed);
begin
  if tg_op = 'INSERT' then worker_ids := without_new_workers(worker_ids); end if;
  if cardinality(worker_ids) > 0 then perform search_requeue(worker_ids); end if;
  return null;
end
$function$;
CREATE OR REPLACE FUNCTION public.search_on_onboarding()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  worker_ids uuid[] := array(
    select after.id from changed after join unchanged before using (id)
    where after.onboarded_at is distinct from before.onboarded_at);
begin
  if cardinality(worker_ids) > 0 then perform search_requeue(worker_ids); end if;
  return null;
end
$function$;
CREATE OR REPLACE FUNCTION public.search_pages(handles text[], handles_only boolean[], limits integer[], orders text[], exact_labels text[], prefix_labels text[], bare_orders text[], bare_exact_labels text[], bare_prefix_labels text[], bare_differs boolean[], after_sections smallint[], after_ranks smallint[], after_usernames text[], extra integer DEFAULT 24, sorted_max integer DEFAULT 512)
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  results text[] := array_fill(null::text, array[cardinality(handles)]);
  unanswered integer[] := array(select generate_subscripts(handles, 1));
  answered record;
begin
  while cardinality(unanswered) > 0 loop
    for answered in
      select search.place, (
          select coalesce(string_agg((
            select e.hit from search_entries e where e.username = named.username), ','), '')
          from unnest(found.usernames) as named(username)) as hits
      from unnest(unanswered) as search(place)
      cross join lateral (
        select
          handles[search.place] as handle,
          handles_only[search.place] as only_handles,
          limits[search.place] as hits_wanted,
          limits[search.place] + extra as hits_max,
          after_sections[search.place] as after_section,
          after_ranks[search.place] as after_rank,
          after_usernames[search.place] as after_username
        offset 0
      ) s
      cross join lateral (
        select
          (array_agg(candidate.username order by candidate.place))[1:s.hits_wanted] as usernames,
          count(*) as candidates,
          sum(candidate.matches) as matches
        from (
          select match.username, min(match.place) as place, count(*) as matches
          from (
            -- The steps, best first. A step is read only if those above it returned too few
            -- matches.
            select row_number() over () as place, m.username from (
              select e.username from search_entries e
              where e.username = s.handle and s.after_section < 1
              union all
              select m.username
              from (
                select
                  case when s.after_section = 2 then s.after_rank else -1 end::smallint as rank,
                  case when s.after_section = 2 then s.after_username else '' end as username
                offset 0
              ) start
              cross join lateral (
                select h.username from search_handle_initial(
                  letter => s.handle, after_rank => start.rank,
                  after_username => start.username, hits_max => s.hits_max) h
                where length(s.handle) = 1 and s.only_handles
                union all
                select h.username from search_begins(
                  of_kind => 'handle_and_skills', prefix => s.handle, after_rank => start.rank,
                  after_username => start.username, hits_max => s.hits_max,
                  sorted_max => sorted_max) h
                where length(s.handle) > 1 and not s.only_handles
                union all
                select h.username from search_handles(
                  prefix => s.handle, after_rank => start.rank,
                  after_username => start.username, hits_max => s.hits_max) h
                where length(s.handle) > 1
              ) m
              where s.after_section <= 2
              union all
              select m.username
              from (
                select
                  orders[search.place] as orders,
                  bare_orders[search.place] as bare_orders,
                  string_to_array(exact_labels[search.place], E'\n') as exact_labels,
                  string_to_array(prefix_labels[search.place], E'\n') as prefix_labels,
                  string_to_array(bare_exact_labels[search.place], E'\n') as bare_exact_labels,
                  string_to_array(bare_prefix_labels[search.place], E'\n') as bare_prefix_labels,
                  bare_differs[search.place] as bare_differs,
                  enum_range(case when bare_differs[search.place]
                    then 'skills'::match_kind else 'bare_skills' end, null) as bare_kinds
                offset 0
              ) asked
              cross join lateral search_live(
                kinds => '{skills,skill,name,title}', texts => asked.orders,
                probe => asked.orders like E'%\n%') live
              cross join lateral search_live(
                kinds => asked.bare_kinds, texts => asked.bare_orders, probe => true) bare
              cross join lateral (values
                (3, 'skills'::match_kind, 'skills'::match_kind, live.texts, asked.exact_labels),
                (3, 'skill', 'skill', live.texts, asked.exact_labels),
                (4, 'skills', 'bare_skills', bare.texts, asked.bare_exact_labels),
                (4, 'skill', 'bare_skill', bare.texts, asked.bare_exact_labels),
                (5, 'skills', 'skills', live.texts, asked.prefix_labels),
                (5, 'skill', 'skill', live.texts, asked.prefix_labels),
                (6, 'skills', 'bare_skills', bare.texts, asked.bare_prefix_labels),
                (6, 'skill', 'bare_skill', bare.texts, asked.bare_prefix_labels),
                (7, 'name', 'name', live.texts, '{}'),
                (8, 'name', 'bare_name', bare.texts, '{}'),
                (9, 'title', 'title', live.texts, '{}'),
                (10, 'title', 'bare_title', bare.texts, '{}')
              ) as step(section, written_kind, kind, texts, labels)
              cross join lateral (
                select
                  case when step.written_kind <> step.kind and asked.bare_differs
                    then array[step.written_kind, step.kind] else array[step.kind] end as kinds,
                  case when s.after_section = step.section
                    then s.after_rank else -1 end::smallint as rank,
                  case when s.after_section = step.section
                    then s.after_username else '' end as username
                offset 0
              ) start
              cross join lateral search_step(
                kinds => start.kinds, texts => step.texts, by_name => step.section <= 4,
                labels => step.labels, after_rank => start.rank,
                after_username => start.username, hits_max => s.hits_max,
                sorted_max => sorted_max) m
              where not s.only_handles and s.after_section <= step.section
                and (step.texts <> '{}' or step.labels <> '{}')
            ) m limit s.hits_max
          ) match
          group by match.username
        ) candidate
      ) found
      -- Answered: no match is left to read, or enough candidates were found.
      where found.matches is null or found.matches < s.hits_max
        or found.candidates >= s.hits_wanted
    loop
      results[answered.place] := '[' || answered.hits || ']';
    end loop;
    unanswered := array(
      select place from unnest(results) with ordinality as r(hits, place) where r.hits is null);
    extra := extra * 8;
  end loop;
  return query select unnest(results);
end
$function$;
CREATE OR REPLACE FUNCTION public.search_prefix(of_kind match_kind, prefix text, hits_max integer, sorted_max integer)
 RETURNS TABLE(rank smallint, username text)
 LANGUAGE sql
 STABLE
AS $function$
  select hit.rank, hit.username
  from (
    select length(prefix) = 2 or exists (
      select from search_terms t
      where t.kind = of_kind and t.term >= prefix and t.term < prefix || chr(1114111)
      offset sorted_max) as many
    offset 0
  ) matches cross join lateral (
    (select t.rank, t.username from search_terms t
      where not matches.many
        and t.kind = of_kind and t.term >= prefix and t.term < prefix || chr(1114111)
      order by t.rank, t.username limit hits_max)
    union all
    (select t.rank, t.username from search_terms t
      where matches.many and left(t.term, 2) = left(prefix, 2)
        and t.kind = of_kind and t.term >= prefix and t.term < prefix || chr(1114111)
      order by t.rank, t.username limit hits_max)
  ) hit
$function$;
CREATE OR REPLACE FUNCTION public.search_remove(worker_ids uuid[])
 RETURNS void
 LANGUAGE sql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
  with entry as (
    delete from search_entries where worker_id = any(worker_ids)
    returning username, kinds, terms, ranks
  )
  delete from search_terms t
  using entry, unnest(entry.kinds, entry.terms, entry.ranks) as posted(kind, term, rank)
  where t.kind = posted.kind and t.term = posted.term and t.rank = posted.rank
    and t.username = entry.username
$function$;
CREATE OR REPLACE FUNCTION public.search_requeue(worker_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  insert into search_queue (worker_id, marked_in, is_new)
  select w.id, pg_current_xact_id(), not exists (
    select from search_entries e where e.worker_id = w.id)
  from workers w
  where w.id = any(worker_ids) and w.onboarded_at is not null
    and exists (select from profiles p where p.worker_id = w.id)
    and (select count(*) from consents c where c.worker_id = w.id and c.granted
      and c.permission in ('public_profile', 'search_listing')) = 2
  order by w.id
  on conflict (worker_id) do update
    set marked_in = excluded.marked_in, is_new = search_queue.is_new and excluded.is_new
    where search_queue.marked_in <> excluded.marked_in;
  perform search_remove(worker_ids);
end
$function$;
CREATE OR REPLACE FUNCTION public.search_skill_name(of_kind match_kind, query text, exact_labels text, hits_max integer)
 RETURNS TABLE(rank smallint, username text)
 LANGUAGE sql
 STABLE
AS $function$
  select hit.rank, hit.username from (
    select query || chr(1)
    union all select query || chr(2)
    union all select label || chr(1) from string_to_table(exact_labels, E'\n') as label
  ) as name(term) cross join lateral (
    select t.rank, t.username from search_terms t
    where t.kind = of_kind and t.term = name.term
    order by t.rank, t.username limit hits_max
  ) hit
  order by hit.rank, hit.username limit hits_max
$function$;
CREATE OR REPLACE FUNCTION public.search_skill_prefix(of_kind match_kind, prefix text, prefix_labels text, hits_max integer, sorted_max integer)
 RETURNS TABLE(rank smallint, username text)
 LANGUAGE sql
 STABLE
AS $function$
  select hit.rank, hit.username from (
    select p.rank, p.username from search_prefix(
      of_kind => of_kind, prefix => prefix, hits_max => hits_max, sorted_max => sorted_max) p
    union all
    select labelled.rank, labelled.username
    from string_to_table(prefix_labels, E'\n') as label cross join lateral (
      select t.rank, t.username from search_terms t
      where t.kind = of_kind and t.term = label || chr(1)
      order by t.rank, t.username limit hits_max
    ) labelled
  ) hit
  order by hit.rank, hit.username limit hits_max
$function$;
CREATE OR REPLACE FUNCTION public.search_step(kinds match_kind[], texts text[], by_name boolean, labels text[], after_rank smallint, after_username text, hits_max integer, sorted_max integer)
 RETURNS TABLE(rank smallint, username text)
 LANGUAGE sql
 STABLE
AS $function$
  select hit.rank, hit.username from (
    select equal.rank, equal.username
    from (select unnest(kinds) as kind) of
    cross join (
      select text || mark as term
      from (select unnest(texts) as text) name cross join (values (chr(1)), (chr(2))) as m(mark)
      where by_name
      union all
      select unnest(labels)
    ) whole
    cross join lateral (
      select t.rank, t.username from search_terms t
      where t.kind = of.kind and t.term = whole.term
        and (t.rank, t.username) > (after_rank, after_username)
      order by t.rank, t.username limit hits_max
    ) equal
    union all
    select begins.rank, begins.username
    from (select unnest(kinds) as kind) of
    cross join (select unnest(texts) as prefix) beginning
    cross join lateral search_begins(
      of_kind => of.kind, prefix => beginning.prefix, after_rank => after_rank,
      after_username => after_username, hits_max => hits_max, sorted_max => sorted_max) begins
    where not by_name and length(prefix) > 1
  ) hit
  order by hit.rank, hit.username limit hits_max
$function$;
CREATE OR REPLACE FUNCTION public.subject_name_sha256(subject text)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select sha256(convert_to(split_part(subject, '/u/', 2), 'UTF8'))
$function$;
CREATE OR REPLACE FUNCTION public.whole_or_none(granted bigint, wanted bigint)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  if granted < wanted then
    raise exception 'not all that was wanted is granted' using errcode = 'RL001';
  end if;
  return true;
end
$function$;
CREATE OR REPLACE FUNCTION public.without_new_workers(worker_ids uuid[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
AS $function$
begin
  return array(
    select worker_id from unnest(worker_ids) as inserted(worker_id)
    where exists (select from profiles p where p.worker_id = inserted.worker_id)
      or not exists (select from workers w where w.id = inserted.worker_id
        and w.xmin = pg_current_xact_id()::xid));
end
$function$;

create table account_audit (
  account_id uuid not null,
  seq bigint not null
);
create table accounts (
  id uuid not null,
  name text not null,
  created_at timestamp with time zone not null
);
create table agent_decision_keys (
  user_id uuid not null,
  idempotency_key text not null,
  fingerprint bytea,
  report_id uuid
);
create table agent_decision_reports (
  id uuid not null,
  user_id uuid not null,
  idempotency_key text not null,
  api_key_id uuid,
  subject_kind text not null,
  subject text not null,
  decision text not null,
  outcome text not null,
  agent_name text,
  agent_version text,
  job_ref text,
  reason_codes text[] not null,
  notes text,
  metadata json not null,
  created_at timestamp with time zone not null
);
create table agent_reporting (
  user_id uuid not null,
  state text not null,
  changed_at timestamp with time zone not null
);
create table agent_unlock_reviews (
  id uuid not null,
  user_id uuid not null,
  requested_at timestamp with time zone not null,
  decided_at timestamp with time zone,
  decision text,
  note text
);
create table api_key_uses (
  key_id uuid not null,
  last_used_at timestamp with time zone not null
) with (fillfactor=50);
create table api_keys (
  id uuid not null,
  account_id uuid not null,
  environment text not null,
  digest bytea,
  shown text not null,
  name text not null,
  scopes text[] not null,
  predecessor uuid,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  revoked_at timestamp with time zone,
  allowed_from text[]
);
create table audit_log (
  seq bigint not null,
  at text collate "C" not null,
  actor text not null,
  action text not null,
  subjects text not null,
  details text not null,
  prev_hash bytea not null,
  hash bytea not null,
  prev_seq bigint generated always as (NULLIF((seq - 1), 0)) stored
);
create table consent_changes (
  worker_id uuid not null,
  consent_version integer not null,
  permission text not null,
  granted boolean not null,
  previous_granted boolean,
  text_version text,
  actor text not null,
  effective_at timestamp with time zone not null
);
create table consents (
  worker_id uuid not null,
  permission text not null,
  granted boolean not null,
  text_version text,
  consent_version integer not null
);
create table credit_accounts (
  account_id uuid not null,
  balance bigint not null,
  suspended_at timestamp with time zone
) with (fillfactor=50);
create table credit_archived_sums (
  account_id uuid not null,
  month date not null,
  entries bigint not null,
  delta bigint not null
);
create table credit_archives (
  month date not null,
  entries bigint not null,
  delta bigint not null,
  file_sha256 bytea not null,
  archived_at timestamp with time zone not null
);
create table credit_audits (
  account_id uuid not null,
  through_seq bigint not null,
  balance bigint not null,
  audited_at timestamp with time zone not null
);
create table credit_entries (
  account_id uuid not null,
  seq bigint generated always as identity not null,
  kind text not null,
  delta bigint not null,
  reference text collate "C" not null,
  key_id uuid,
  meter text,
  operation text,
  reason text,
  at timestamp with time zone default clock_timestamp() not null
) partition by RANGE (reference);
create table credit_entries_default partition of credit_entries DEFAULT;
create table credit_entries_operator partition of credit_entries FOR VALUES FROM ('operator:') TO ('operator;');
create table credit_purchases (
  account_id uuid not null,
  key_sha256 bytea not null,
  fingerprint bytea not null,
  charged_at timestamp with time zone not null
);
create table credit_usage (
  account_id uuid not null,
  day date not null,
  key_id uuid not null,
  meter text not null,
  operation text not null,
  calls integer not null,
  refunded integer not null,
  credits bigint not null
);
create table credit_usage_marks (
  account_id uuid not null,
  seq bigint not null
);
create table dispute_changes (
  dispute_id uuid not null,
  state text not null,
  changed_at timestamp with time zone not null,
  actor text not null
);
create table dispute_targets (
  dispute_id uuid not null,
  state text not null,
  worker_id uuid not null,
  kind text not null,
  evidence_id uuid,
  excluded boolean not null,
  upheld boolean default false not null
);
create table disputes (
  id uuid not null,
  worker_id uuid not null,
  kind text not null,
  state text not null,
  resolution text,
  restricted boolean not null,
  snapshot_id bytea,
  resulting_snapshot_id bytea,
  opened_at timestamp with time zone not null,
  due_at timestamp with time zone not null,
  ended_at timestamp with time zone
);
create table engine_recalls (
  engine_sha256 bytea not null,
  engine_version text not null,
  reason text not null,
  actor text not null,
  recalled_at timestamp with time zone not null,
  marked_at timestamp with time zone,
  marked_to bytea default '\x'::bytea not null
);
create table evidence (
  evidence_id uuid not null,
  worker_id uuid not null,
  source_id text not null,
  external_id text not null,
  skill_id text not null,
  type text not null,
  value integer not null,
  observed_on date not null,
  expires_on date,
  digest bytea not null,
  ingested_at timestamp with time zone not null,
  state text default 'active'::text not null,
  state_at timestamp with time zone not null,
  revoked_reason text,
  revoked_by text
);
create table evidence_imports (
  import_id uuid not null,
  seen_at timestamp with time zone not null
);
create table evidence_private (
  evidence_id uuid not null,
  payload text
);
create table identities (
  worker_id uuid not null,
  state text not null,
  verified_until timestamp with time zone,
  change integer not null
);
create table identity_changes (
  worker_id uuid not null,
  change integer not null,
  state text not null,
  verified_until timestamp with time zone,
  actor text not null,
  changed_at timestamp with time zone not null
);
create table invitation_links (
  digest bytea not null,
  invitation_id uuid not null,
  proves_address boolean not null
);
create table invitations (
  id uuid not null,
  account_id uuid not null,
  email text not null,
  role text not null,
  invited_by uuid,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  answered_at timestamp with time zone,
  answer text,
  mailed_at timestamp with time zone
);
create table mail_budget (
  bucket bytea not null,
  spent_at timestamp with time zone[] default '{}'::timestamp with time zone[] not null
);
create table mails (
  id uuid not null,
  kind text not null,
  email text not null,
  next text,
  created_at timestamp with time zone not null,
  attempts integer default 0 not null,
  due_at timestamp with time zone,
  invitation_id uuid,
  notice jsonb
);
create table memberships (
  user_id uuid not null,
  account_id uuid not null,
  role text not null,
  created_at timestamp with time zone not null,
  notices_off text[] default '{}'::text[] not null
);
create table notices_sent (
  recipient text not null,
  notice text not null,
  sent_at timestamp with time zone not null
);
create table operation_replays (
  actor text not null,
  idempotency_key text not null,
  fingerprint bytea not null,
  answer text,
  created_at timestamp with time zone not null
);
create table operator_tokens (
  id uuid not null,
  name text not null,
  role text not null,
  digest bytea not null,
  shown text not null,
  allowed_from cidr[],
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  last_used_at timestamp with time zone
);
create table operators (
  user_id uuid not null,
  role text not null,
  granted_at timestamp with time zone not null,
  granted_by text not null
);
create table process_heartbeats (
  process_id uuid not null,
  node text not null,
  pid integer not null,
  release text not null,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  serves boolean not null,
  signs boolean not null,
  opens_secrets boolean not null,
  jobs jsonb
) with (fillfactor=50);
create table profile_skills (
  worker_id uuid not null,
  name text not null,
  place smallint not null,
  verified boolean not null,
  level text
);
create table profiles (
  worker_id uuid not null,
  username text collate "C" not null,
  username_sha256 bytea not null,
  display_name text not null,
  title text,
  bio text,
  avatar_url text,
  member_since text not null,
  updated_at timestamp with time zone not null
);
create table rate_windows (
  bucket uuid not null,
  hits timestamp with time zone[] not null,
  quarters timestamp with time zone[] not null,
  totals integer[] not null,
  base integer not null,
  granted integer not null,
  per_minute integer not null,
  per_day integer not null,
  decided_at timestamp with time zone not null,
  hit_totals integer[] not null,
  hit_base integer not null
) with (fillfactor=50, toast_tuple_target=8160);
create table readable_profiles (
  worker_id uuid not null,
  username text collate "C" not null
);
create table readable_scores (
  worker_id uuid not null,
  snapshot_id bytea not null,
  verified_until timestamp with time zone not null
);
create table reader_beats (
  reader uuid not null,
  beat bigint not null,
  at timestamp with time zone default now() not null
);
create table request_counts (
  account_id uuid not null,
  minute timestamp with time zone not null,
  class smallint not null,
  calls integer not null,
  first_seq bigint default 0 not null,
  last_seq bigint default '9223372036854775807'::bigint not null
);
create table request_log (
  seq bigint generated always as identity not null,
  at timestamp with time zone not null,
  request_id text not null,
  account_id uuid not null,
  key_id uuid,
  operation text not null,
  status smallint not null,
  error text,
  credits integer not null,
  duration_us integer not null,
  network text not null,
  cause jsonb
) partition by RANGE (at);
create table request_log_default partition of request_log DEFAULT;
create table schema_migrations (
  name text not null,
  sha256 text not null,
  applied_at timestamp with time zone not null,
  nodes_from integer
);
create table score_credentials (
  vc_sha256 bytea not null,
  status_token bytea not null,
  credential_id uuid not null,
  subject text not null,
  list_id text not null,
  list_index integer not null,
  kid text not null,
  payload text not null,
  proof text not null,
  issued_at timestamp with time zone not null,
  valid_until timestamp with time zone not null,
  superseded_at timestamp with time zone,
  revoked_at timestamp with time zone
);
create table score_evaluations (
  worker_id uuid not null,
  evaluated_at timestamp with time zone not null,
  rules_sha256 bytea not null,
  ends_on date
);
create table score_recomputations (
  worker_id uuid not null,
  since timestamp with time zone not null,
  reason text not null,
  imports uuid[] default '{}'::uuid[] not null
) with (fillfactor=70);
create table score_reissues (
  worker_id uuid not null,
  vc_sha256 bytea not null,
  since timestamp with time zone not null
);
create table score_snapshots (
  snapshot_id bytea not null,
  worker_id uuid not null,
  previous_id bytea,
  state text not null,
  change text not null,
  reason text,
  dispute_id uuid,
  as_of date not null,
  engine_id text not null,
  engine_version text not null,
  engine_sha256 bytea not null,
  vocabulary_sha256 bytea not null,
  evidence_root bytea not null,
  score smallint not null,
  confidence_low smallint not null,
  confidence_high smallint not null,
  band text not null,
  evidence_count integer not null,
  source_count integer not null,
  issued_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  vc_sha256 bytea,
  status_token bytea
) with (fillfactor=90);
create table score_workings (
  snapshot_id bytea not null,
  nonce bytea not null,
  evidence text not null,
  result text not null
);
create table scoring_vocabularies (
  vocabulary_sha256 bytea not null,
  rules text not null,
  first_used_at timestamp with time zone not null
);
create table search_entries (
  worker_id uuid not null,
  username text collate "C" not null,
  kinds match_kind[] not null,
  terms text[] not null,
  ranks smallint[] not null,
  hit text not null
);
create table search_queue (
  worker_id uuid not null,
  marked_in xid8 not null,
  is_new boolean default false not null,
  queued_at timestamp with time zone default now() not null
);
create table search_terms (
  kind match_kind not null,
  term text collate "C" not null,
  rank smallint not null,
  username text collate "C" not null
) with (autovacuum_vacuum_insert_scale_factor=0.02);
create table search_vocabulary (
  singleton boolean default true not null,
  sha256 bytea not null
);
create table sessions (
  id uuid not null,
  digest bytea not null,
  user_id uuid not null,
  account_id uuid not null,
  created_at timestamp with time zone not null,
  last_seen_at timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  browser text not null,
  network text not null,
  authenticated_at timestamp with time zone
);
create table sign_in_links (
  digest bytea not null,
  mail_id uuid not null,
  user_id uuid not null,
  expires_at timestamp with time zone not null
);
create table signing_keys (
  kid text not null,
  public_key bytea not null,
  state text not null,
  created_at timestamp with time zone not null,
  activated_at timestamp with time zone,
  retired_at timestamp with time zone,
  revoked_at timestamp with time zone,
  credentials_revoked_at timestamp with time zone,
  reissues_marked_to bytea default '\x'::bytea not null,
  reissues_marked_at timestamp with time zone
);
create table source_changes (
  source_id text not null,
  changed_at timestamp with time zone not null,
  actor text not null,
  name text not null,
  kind text not null,
  assurance integer not null,
  independence_group text not null,
  number integer not null,
  issuer text,
  public_keys text[] default '{}'::text[] not null,
  suspended boolean default false not null
);
create table sources (
  source_id text not null,
  name text not null,
  kind text not null,
  assurance integer not null,
  independence_group text not null,
  registered_at timestamp with time zone not null,
  changed_at timestamp with time zone not null,
  issuer text,
  public_keys text[] default '{}'::text[] not null,
  suspended_at timestamp with time zone
);
create table status_changes (
  part text not null,
  state text not null,
  began_at timestamp with time zone not null,
  ended_at timestamp with time zone
);
create table status_lists (
  list_id text not null,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  dies_at timestamp with time zone,
  revision bigint default 0 not null,
  published_revision bigint not null,
  publication bigint default 1 not null,
  published_at timestamp with time zone not null,
  refresh_at timestamp with time zone not null,
  valid_until timestamp with time zone not null,
  payload text not null,
  proofs jsonb not null,
  issuer text generated always as ("substring"(payload, '"issuer":"([^"]*)"'::text)) stored not null
);
create table status_looks (
  only_row boolean default true not null,
  at timestamp with time zone not null,
  first_at timestamp with time zone default now() not null
);
create table user_identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null,
  created_at timestamp with time zone not null
);
create table user_networks (
  user_id uuid not null,
  network text not null,
  signed_in_at timestamp with time zone not null
);
create table usernames (
  username_sha256 bytea not null,
  worker_id uuid not null,
  taken_at timestamp with time zone not null
);
create table users (
  id uuid not null,
  email text not null,
  name text,
  created_at timestamp with time zone not null,
  disabled_at timestamp with time zone,
  last_account_id uuid,
  address_proven_at timestamp with time zone
);
create table webhook_attempts (
  id uuid not null,
  delivery_id bigint not null,
  endpoint_id uuid not null,
  event_id text not null,
  event_type text not null,
  attempt smallint not null,
  trigger text not null,
  result text not null,
  started_at timestamp with time zone not null,
  duration_ms integer,
  response_status smallint,
  error_code text,
  response_body text,
  next_attempt_at timestamp with time zone,
  error_cause text,
  sent_at timestamp with time zone,
  signatures jsonb,
  response_headers jsonb
);
create table webhook_deliveries (
  id bigint generated always as identity not null,
  endpoint_id uuid not null,
  event_seq bigint,
  event_id text not null,
  event_type text not null,
  body text,
  trigger text not null,
  trigger_ref text default ''::text not null,
  status text default 'pending'::text not null,
  attempts smallint default 0 not null,
  interruptions smallint default 0 not null,
  due_at timestamp with time zone not null,
  lease_id uuid,
  lease_until timestamp with time zone,
  created_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  request_id text default NULLIF(current_setting('assay.request_id'::text, true), ''::text)
) with (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_analyze_scale_factor=0.05);
create table webhook_endpoints (
  id uuid not null,
  user_id uuid not null,
  url text not null,
  description text,
  event_types text[] not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  disabled_at timestamp with time zone,
  disabled_reason text,
  paused_at timestamp with time zone,
  parked_until timestamp with time zone,
  concurrency real default 4 not null,
  concurrency_max smallint default 16 not null,
  last_success_at timestamp with time zone,
  last_failure_at timestamp with time zone,
  failing_since timestamp with time zone,
  consecutive_failures integer default 0 not null,
  warned_hours smallint default 0 not null,
  tested_at timestamp with time zone,
  idempotency_key text,
  fingerprint bytea,
  rate_per_second smallint,
  rate_from timestamp with time zone,
  dns_checked_at timestamp with time zone
) with (fillfactor=70);
create table webhook_events (
  seq bigint generated always as identity not null,
  id text not null,
  type text not null,
  worker_id uuid not null,
  created_at timestamp with time zone not null,
  body text not null,
  withheld_at timestamp with time zone,
  "position" bigint,
  request_id text default NULLIF(current_setting('assay.request_id'::text, true), ''::text),
  traceparent text
);
create table webhook_feed_floor (
  only_row boolean default true not null,
  "position" bigint not null
);
create table webhook_secrets (
  endpoint_id uuid not null,
  version integer not null,
  prefix text not null,
  sealed bytea not null,
  kid text not null,
  signs_from timestamp with time zone not null,
  ends_at timestamp with time zone,
  replacement_at timestamp with time zone
);
create table workers (
  id uuid not null,
  external_id text,
  registered_at timestamp with time zone not null,
  terms_version text,
  terms_accepted_at timestamp with time zone,
  onboarded_at timestamp with time zone,
  consent_version integer default 0 not null,
  erased_at timestamp with time zone
);
create table x402_payments (
  id uuid not null,
  chain_id integer not null,
  asset text not null,
  payer text not null,
  auth_nonce text not null,
  signature_hash bytea not null,
  resource_key bytea not null,
  endpoint text not null,
  amount numeric(78,0) not null,
  pay_to text not null,
  valid_before timestamp with time zone not null,
  idempotency_key text,
  state text not null,
  lease_until timestamp with time zone not null,
  tx_hash text,
  error_reason text,
  facilitator text not null,
  sealed_payment bytea,
  claimed_at timestamp with time zone not null,
  state_at timestamp with time zone not null,
  settled_at timestamp with time zone,
  found_at timestamp with time zone,
  refund_tx_hash text,
  refunded_at timestamp with time zone
) with (fillfactor=70);
create table x402_prices (
  chain_id integer not null,
  asset text not null,
  pay_to text not null,
  endpoint text not null,
  amount numeric(78,0) not null,
  first_posted_at timestamp with time zone not null,
  payable_until timestamp with time zone not null
) with (fillfactor=50);

alter table account_audit add constraint account_audit_pkey PRIMARY KEY (account_id, seq);
alter table accounts add constraint accounts_name_key UNIQUE (name);
alter table accounts add constraint accounts_pkey PRIMARY KEY (id);
alter table accounts add constraint accounts_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 120 AND name !~ '[[:cntrl:]]'::text);
alter table agent_decision_keys add constraint agent_decision_keys_pkey PRIMARY KEY (user_id, idempotency_key);
alter table agent_decision_keys add constraint agent_decision_keys_check CHECK ((fingerprint IS NULL) = (report_id IS NULL));
alter table agent_decision_keys add constraint agent_decision_keys_fingerprint_check CHECK (length(fingerprint) = 32);
alter table agent_decision_keys add constraint agent_decision_keys_idempotency_key_check CHECK (length(idempotency_key) >= 16 AND length(idempotency_key) <= 128);
alter table agent_decision_reports add constraint agent_decision_reports_pkey PRIMARY KEY (id);
alter table agent_decision_reports add constraint agent_decision_reports_agent_name_check CHECK (length(agent_name) <= 80);
alter table agent_decision_reports add constraint agent_decision_reports_agent_version_check CHECK (length(agent_version) <= 80);
alter table agent_decision_reports add constraint agent_decision_reports_job_ref_check CHECK (length(job_ref) <= 120);
alter table agent_decision_reports add constraint agent_decision_reports_notes_check CHECK (length(notes) <= 1000);
alter table agent_decision_reports add constraint agent_decision_reports_reason_codes_check CHECK (cardinality(reason_codes) <= 10);
alter table agent_decision_reports add constraint agent_decision_reports_subject_kind_check CHECK (subject_kind = ANY (ARRAY['candidate'::text, 'score'::text]));
alter table agent_reporting add constraint agent_reporting_pkey PRIMARY KEY (user_id);
alter table agent_reporting add constraint agent_reporting_state_check CHECK (state = ANY (ARRAY['unlocked'::text, 'locked'::text]));
alter table agent_unlock_reviews add constraint agent_unlock_reviews_pkey PRIMARY KEY (id);
alter table agent_unlock_reviews add constraint agent_unlock_reviews_check CHECK ((decided_at IS NULL) = (decision IS NULL));
alter table agent_unlock_reviews add constraint agent_unlock_reviews_decision_check CHECK (decision = ANY (ARRAY['approved'::text, 'declined'::text]));
alter table agent_unlock_reviews add constraint agent_unlock_reviews_note_check CHECK (char_length(note) <= 1000);
alter table api_key_uses add constraint api_key_uses_pkey PRIMARY KEY (key_id);
alter table api_keys add constraint api_keys_digest_key UNIQUE (digest);
alter table api_keys add constraint api_keys_predecessor_key UNIQUE (predecessor);
alter table api_keys add constraint api_keys_pkey PRIMARY KEY (id);
alter table api_keys add constraint api_keys_allowed_from_check CHECK (cardinality(allowed_from) >= 1 AND cardinality(allowed_from) <= 20 AND array_position(allowed_from, NULL::text) IS NULL AND array_to_string(allowed_from, ' '::text) ~ '^[0-9a-f.:]+/[0-9]+( [0-9a-f.:]+/[0-9]+)*$'::text);
alter table api_keys add constraint api_keys_check CHECK (expires_at > created_at);
alter table api_keys add constraint api_keys_check1 CHECK (digest IS NOT NULL OR revoked_at IS NOT NULL);
alter table api_keys add constraint api_keys_digest_check CHECK (length(digest) = 32);
alter table api_keys add constraint api_keys_environment_check CHECK (environment = ANY (ARRAY['live'::text, 'test'::text]));
alter table api_keys add constraint api_keys_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 120 AND name !~ '[[:cntrl:]]'::text);
alter table api_keys add constraint api_keys_scopes_check CHECK (cardinality(scopes) >= 1 AND cardinality(scopes) <= 4 AND scopes <@ ARRAY['candidates:read'::text, 'scores:read'::text, 'webhooks:write'::text, 'agent-decisions:write'::text]);
alter table api_keys add constraint api_keys_shown_check CHECK (shown ~ '^svc_(live|test)_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$'::text);
alter table audit_log add constraint audit_log_seq_hash_key UNIQUE (seq, hash);
alter table audit_log add constraint audit_log_pkey PRIMARY KEY (seq);
alter table audit_log add constraint audit_log_action_check CHECK (action ~ '^[a-z_]+\.[a-z_]+$'::text);
alter table audit_log add constraint audit_log_actor_check CHECK (length(actor) >= 1 AND length(actor) <= 400);
alter table audit_log add constraint audit_log_at_check CHECK (at ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$'::text);
alter table audit_log add constraint audit_log_check CHECK (seq > 1 OR prev_hash = decode(repeat('00'::text, 32), 'hex'::text));
alter table audit_log add constraint audit_log_hash_check CHECK (length(hash) = 32);
alter table audit_log add constraint audit_log_prev_hash_check CHECK (length(prev_hash) = 32);
alter table audit_log add constraint audit_log_seq_check CHECK (seq > 0);
alter table consent_changes add constraint consent_changes_worker_id_consent_version_permission_grante_key UNIQUE (worker_id, consent_version, permission, granted);
alter table consent_changes add constraint consent_changes_pkey PRIMARY KEY (worker_id, consent_version);
alter table consent_changes add constraint consent_changes_actor_check CHECK (char_length(actor) >= 1 AND char_length(actor) <= 200);
alter table consent_changes add constraint consent_changes_check CHECK (granted = (text_version IS NOT NULL));
alter table consent_changes add constraint consent_changes_check1 CHECK (granted OR previous_granted IS DISTINCT FROM false);
alter table consent_changes add constraint consent_changes_consent_version_check CHECK (consent_version >= 1);
alter table consent_changes add constraint consent_changes_permission_check CHECK (permission = ANY (ARRAY['public_profile'::text, 'search_listing'::text, 'score_sharing'::text]));
alter table consent_changes add constraint consent_changes_text_version_check CHECK (char_length(text_version) >= 1 AND char_length(text_version) <= 64);
alter table consents add constraint consents_pkey PRIMARY KEY (worker_id, permission);
alter table consents add constraint consents_permission_check CHECK (permission = ANY (ARRAY['public_profile'::text, 'search_listing'::text, 'score_sharing'::text]));
alter table credit_accounts add constraint credit_accounts_pkey PRIMARY KEY (account_id);
alter table credit_accounts add constraint credit_accounts_balance_check CHECK (balance >= 0);
alter table credit_archived_sums add constraint credit_archived_sums_pkey PRIMARY KEY (account_id, month);
alter table credit_archived_sums add constraint credit_archived_sums_entries_check CHECK (entries > 0);
alter table credit_archives add constraint credit_archives_pkey PRIMARY KEY (month);
alter table credit_archives add constraint credit_archives_entries_check CHECK (entries > 0);
alter table credit_archives add constraint credit_archives_file_sha256_check CHECK (length(file_sha256) = 32);
alter table credit_archives add constraint credit_archives_month_check CHECK (EXTRACT(day FROM month) = 1::numeric);
alter table credit_audits add constraint credit_audits_pkey PRIMARY KEY (account_id);
alter table credit_entries add constraint credit_entries_reference_key UNIQUE (reference);
alter table credit_entries add constraint credit_entries_check CHECK (
CASE kind
    WHEN 'grant'::text THEN delta > 0 AND reason IS NOT NULL
    WHEN 'adjustment'::text THEN delta <> 0 AND reason IS NOT NULL
    WHEN 'charge'::text THEN delta < 0 AND key_id IS NOT NULL AND meter IS NOT NULL AND operation IS NOT NULL
    WHEN 'void'::text THEN delta > 0 AND key_id IS NOT NULL AND meter IS NOT NULL AND operation IS NOT NULL
    ELSE NULL::boolean
END);
alter table credit_entries add constraint credit_entries_kind_check CHECK (kind = ANY (ARRAY['grant'::text, 'adjustment'::text, 'charge'::text, 'void'::text]));
alter table credit_entries add constraint credit_entries_reason_check CHECK (char_length(reason) >= 1 AND char_length(reason) <= 500);
alter table credit_entries add constraint credit_entries_reference_check CHECK (char_length(reference) >= 1 AND char_length(reference) <= 200);
alter table credit_purchases add constraint credit_purchases_pkey PRIMARY KEY (account_id, key_sha256);
alter table credit_purchases add constraint credit_purchases_fingerprint_check CHECK (length(fingerprint) = 32);
alter table credit_purchases add constraint credit_purchases_key_sha256_check CHECK (length(key_sha256) = 32);
alter table credit_usage add constraint credit_usage_pkey PRIMARY KEY (account_id, day, key_id, meter, operation);
alter table credit_usage_marks add constraint credit_usage_marks_pkey PRIMARY KEY (account_id);
alter table dispute_changes add constraint dispute_changes_pkey PRIMARY KEY (dispute_id, state);
alter table dispute_changes add constraint dispute_changes_state_check CHECK (state = ANY (ARRAY['open'::text, 'under_review'::text, 'resolved'::text, 'withdrawn'::text]));
alter table dispute_targets add constraint dispute_targets_dispute_id_evidence_id_key UNIQUE NULLS NOT DISTINCT (dispute_id, evidence_id);
alter table dispute_targets add constraint dispute_targets_check CHECK ((kind = 'evidence'::text) = (evidence_id IS NOT NULL));
alter table dispute_targets add constraint dispute_targets_check1 CHECK (evidence_id IS NOT NULL OR NOT (excluded OR upheld));
alter table disputes add constraint disputes_id_state_key UNIQUE (id, state);
alter table disputes add constraint disputes_pkey PRIMARY KEY (id);
alter table disputes add constraint disputes_check CHECK (due_at > opened_at);
alter table disputes add constraint disputes_check1 CHECK ((state = 'resolved'::text) = (resolution IS NOT NULL));
alter table disputes add constraint disputes_check2 CHECK ((state = ANY (ARRAY['resolved'::text, 'withdrawn'::text])) = (ended_at IS NOT NULL));
alter table disputes add constraint disputes_check3 CHECK (resulting_snapshot_id IS NULL OR ended_at IS NOT NULL);
alter table disputes add constraint disputes_check4 CHECK (resolution IS DISTINCT FROM 'partly_upheld'::text OR kind = 'evidence'::text);
alter table disputes add constraint disputes_kind_check CHECK (kind = ANY (ARRAY['score'::text, 'evidence'::text, 'identity'::text]));
alter table disputes add constraint disputes_resolution_check CHECK (resolution = ANY (ARRAY['upheld'::text, 'partly_upheld'::text, 'rejected'::text]));
alter table disputes add constraint disputes_state_check CHECK (state = ANY (ARRAY['open'::text, 'under_review'::text, 'resolved'::text, 'withdrawn'::text]));
alter table engine_recalls add constraint engine_recalls_pkey PRIMARY KEY (engine_sha256);
alter table engine_recalls add constraint engine_recalls_actor_check CHECK (char_length(actor) >= 1 AND char_length(actor) <= 200);
alter table engine_recalls add constraint engine_recalls_engine_sha256_check CHECK (length(engine_sha256) = 32);
alter table engine_recalls add constraint engine_recalls_reason_check CHECK (reason = ANY (ARRAY['wrong_result'::text, 'wrong_algorithm'::text, 'unfair'::text, 'compromised'::text]));
alter table evidence add constraint evidence_source_id_external_id_key UNIQUE (source_id, external_id);
alter table evidence add constraint evidence_pkey PRIMARY KEY (evidence_id);
alter table evidence add constraint evidence_check CHECK (expires_on > observed_on);
alter table evidence add constraint evidence_check1 CHECK ((state = 'revoked'::text) = (revoked_reason IS NOT NULL));
alter table evidence add constraint evidence_check2 CHECK ((state = 'revoked'::text) = (revoked_by IS NOT NULL));
alter table evidence add constraint evidence_check3 CHECK (state <> 'expired'::text OR expires_on IS NOT NULL);
alter table evidence add constraint evidence_digest_check CHECK (length(digest) = 32);
alter table evidence add constraint evidence_observed_on_check CHECK (observed_on >= '1900-01-01'::date);
alter table evidence add constraint evidence_revoked_reason_check CHECK (revoked_reason = ANY (ARRAY['source_removed'::text, 'source_invalid'::text, 'worker_request'::text, 'dispute_upheld'::text, 'policy'::text]));
alter table evidence add constraint evidence_state_check CHECK (state = ANY (ARRAY['active'::text, 'excluded'::text, 'revoked'::text, 'expired'::text]));
alter table evidence add constraint evidence_value_check CHECK (value >= 0 AND value <= 1000);
alter table evidence_imports add constraint evidence_imports_pkey PRIMARY KEY (import_id);
alter table evidence_private add constraint evidence_private_pkey PRIMARY KEY (evidence_id);
alter table identities add constraint identities_pkey PRIMARY KEY (worker_id);
alter table identities add constraint identities_change_check CHECK (change >= 1);
alter table identities add constraint identities_check CHECK ((state = 'verified'::text) = (verified_until IS NOT NULL));
alter table identities add constraint identities_state_check CHECK (state = ANY (ARRAY['pending'::text, 'verified'::text, 'revoked'::text]));
alter table identity_changes add constraint identity_changes_worker_id_change_state_key UNIQUE (worker_id, change, state);
alter table identity_changes add constraint identity_changes_pkey PRIMARY KEY (worker_id, change);
alter table identity_changes add constraint identity_changes_actor_check CHECK (char_length(actor) >= 1 AND char_length(actor) <= 200);
alter table identity_changes add constraint identity_changes_change_check CHECK (change >= 1);
alter table identity_changes add constraint identity_changes_check CHECK ((state = 'verified'::text) = (verified_until IS NOT NULL));
alter table identity_changes add constraint identity_changes_check1 CHECK (verified_until IS NULL OR verified_until > changed_at);
alter table identity_changes add constraint identity_changes_state_check CHECK (state = ANY (ARRAY['pending'::text, 'verified'::text, 'revoked'::text]));
alter table invitation_links add constraint invitation_links_pkey PRIMARY KEY (digest);
alter table invitation_links add constraint invitation_links_digest_check CHECK (length(digest) = 32);
alter table invitations add constraint invitations_pkey PRIMARY KEY (id);
alter table invitations add constraint invitations_answer_check CHECK (answer = ANY (ARRAY['accepted'::text, 'declined'::text, 'withdrawn'::text, 'expired'::text]));
alter table invitations add constraint invitations_check CHECK (expires_at > created_at);
alter table invitations add constraint invitations_check1 CHECK ((answered_at IS NULL) = (answer IS NULL));
alter table invitations add constraint invitations_email_check CHECK (email = lower(email) AND char_length(email) <= 254 AND email ~ '^[^\s<>@]{1,64}@[a-z0-9.-]{1,253}$'::text);
alter table invitations add constraint invitations_role_check CHECK (role = ANY (ARRAY['owner'::text, 'member'::text]));
alter table mail_budget add constraint mail_budget_pkey PRIMARY KEY (bucket);
alter table mail_budget add constraint mail_budget_bucket_check CHECK (length(bucket) = 32);
alter table mails add constraint mails_pkey PRIMARY KEY (id);
alter table mails add constraint mails_attempts_check CHECK (attempts >= 0);
alter table mails add constraint mails_email_check CHECK (email = lower(email) AND char_length(email) <= 254 AND email ~ '^[^\s<>@]{1,64}@[a-z0-9.-]{1,253}$'::text);
alter table mails add constraint mails_invitation CHECK ((kind = 'invitation'::text) = (invitation_id IS NOT NULL));
alter table mails add constraint mails_kind_check CHECK (kind = ANY (ARRAY['sign_in'::text, 'invitation'::text, 'notice'::text]));
alter table mails add constraint mails_next_check CHECK (next ~~ '/%'::text AND octet_length(next) <= 512);
alter table mails add constraint mails_notice CHECK ((kind = 'notice'::text) = (notice IS NOT NULL));
alter table memberships add constraint memberships_pkey PRIMARY KEY (user_id, account_id);
alter table memberships add constraint memberships_role_check CHECK (role = ANY (ARRAY['owner'::text, 'member'::text]));
alter table notices_sent add constraint notices_sent_pkey PRIMARY KEY (recipient, notice);
alter table operation_replays add constraint operation_replays_pkey PRIMARY KEY (actor, idempotency_key);
alter table operator_tokens add constraint operator_tokens_digest_key UNIQUE (digest);
alter table operator_tokens add constraint operator_tokens_pkey PRIMARY KEY (id);
alter table operator_tokens add constraint operator_tokens_allowed_from_check CHECK (cardinality(allowed_from) >= 1 AND cardinality(allowed_from) <= 20);
alter table operator_tokens add constraint operator_tokens_check CHECK (expires_at > created_at AND expires_at <= (created_at + '400 days'::interval));
alter table operator_tokens add constraint operator_tokens_digest_check CHECK (length(digest) = 32);
alter table operator_tokens add constraint operator_tokens_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 80 AND name !~ '[[:cntrl:]]'::text);
alter table operator_tokens add constraint operator_tokens_role_check CHECK (role = ANY (ARRAY['viewer'::text, 'support'::text, 'admin'::text, 'ingest'::text]));
alter table operator_tokens add constraint operator_tokens_shown_check CHECK (shown ~ '^svc_op_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$'::text);
alter table operators add constraint operators_pkey PRIMARY KEY (user_id);
alter table operators add constraint operators_role_check CHECK (role = ANY (ARRAY['viewer'::text, 'support'::text, 'admin'::text]));
alter table process_heartbeats add constraint process_heartbeats_pkey PRIMARY KEY (process_id);
alter table profile_skills add constraint profile_skills_worker_id_place_key UNIQUE (worker_id, place);
alter table profile_skills add constraint profile_skills_pkey PRIMARY KEY (worker_id, name);
alter table profile_skills add constraint profile_skills_level_check CHECK (level = ANY (ARRAY['novice'::text, 'intermediate'::text, 'advanced'::text, 'expert'::text]));
alter table profile_skills add constraint profile_skills_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 80);
alter table profile_skills add constraint profile_skills_place_check CHECK (place >= 1 AND place <= 100);
alter table profiles add constraint profiles_username_key UNIQUE (username);
alter table profiles add constraint profiles_pkey PRIMARY KEY (worker_id);
alter table profiles add constraint profiles_avatar_url_check CHECK (avatar_url ~ '^https://'::text AND char_length(avatar_url) <= 2048);
alter table profiles add constraint profiles_bio_check CHECK (char_length(bio) >= 1 AND char_length(bio) <= 2000);
alter table profiles add constraint profiles_check CHECK (username_sha256 = sha256(convert_to(username, 'UTF8'::name)));
alter table profiles add constraint profiles_display_name_check CHECK (char_length(display_name) >= 1 AND char_length(display_name) <= 80);
alter table profiles add constraint profiles_member_since_check CHECK (member_since ~ '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$'::text);
alter table profiles add constraint profiles_title_check CHECK (char_length(title) >= 1 AND char_length(title) <= 120);
alter table profiles add constraint profiles_username_check CHECK (username ~ '^[a-z0-9][a-z0-9_-]{1,28}[a-z0-9]$'::text AND username <> 'search'::text);
alter table rate_windows add constraint rate_windows_pkey PRIMARY KEY (bucket);
alter table readable_profiles add constraint readable_profiles_username_key UNIQUE (username);
alter table readable_profiles add constraint readable_profiles_pkey PRIMARY KEY (worker_id);
alter table readable_scores add constraint readable_scores_snapshot_id_verified_until_key UNIQUE (snapshot_id, verified_until);
alter table readable_scores add constraint readable_scores_pkey PRIMARY KEY (worker_id);
alter table reader_beats add constraint reader_beats_pkey PRIMARY KEY (reader);
alter table request_counts add constraint request_counts_pkey PRIMARY KEY (account_id, minute, class);
alter table request_counts add constraint request_counts_class_check CHECK (class >= 2 AND class <= 599) NOT VALID;
alter table schema_migrations add constraint schema_migrations_pkey PRIMARY KEY (name);
alter table score_credentials add constraint score_credentials_credential_id_key UNIQUE (credential_id);
alter table score_credentials add constraint score_credentials_place UNIQUE (list_id, list_index) INCLUDE (kid);
alter table score_credentials add constraint score_credentials_status_token_key UNIQUE (status_token);
alter table score_credentials add constraint score_credentials_pkey PRIMARY KEY (vc_sha256);
alter table score_credentials add constraint score_credentials_list_index_check CHECK (list_index >= 0 AND list_index <= 131071);
alter table score_credentials add constraint score_credentials_status_token_check CHECK (length(status_token) = 32);
alter table score_credentials add constraint score_credentials_vc_sha256_check CHECK (length(vc_sha256) = 32);
alter table score_evaluations add constraint score_evaluations_pkey PRIMARY KEY (worker_id);
alter table score_evaluations add constraint score_evaluations_rules_sha256_check CHECK (length(rules_sha256) = 32);
alter table score_recomputations add constraint score_recomputations_pkey PRIMARY KEY (worker_id);
alter table score_recomputations add constraint score_recomputations_reason_check CHECK (reason = ANY (ARRAY['evidence_added'::text, 'evidence_revoked'::text, 'evidence_excluded'::text, 'evidence_restored'::text, 'evidence_expired'::text, 'source_changed'::text, 'sharing_allowed'::text, 'rules_changed'::text, 'evaluation_due'::text, 'operator'::text, 'engine_recalled'::text]));
alter table score_reissues add constraint score_reissues_pkey PRIMARY KEY (worker_id, vc_sha256);
alter table score_snapshots add constraint score_snapshots_vc_sha256_key UNIQUE (vc_sha256);
alter table score_snapshots add constraint score_snapshots_pkey PRIMARY KEY (snapshot_id);
alter table score_snapshots add constraint score_snapshots_band_check CHECK (band = ANY (ARRAY['emerging'::text, 'developing'::text, 'verified'::text, 'strong'::text, 'exceptional'::text]));
alter table score_snapshots add constraint score_snapshots_change_check CHECK (change = ANY (ARRAY['first'::text, 'updated'::text, 'revised'::text]));
alter table score_snapshots add constraint score_snapshots_check CHECK (confidence_low >= 0 AND confidence_low <= score);
alter table score_snapshots add constraint score_snapshots_check1 CHECK (confidence_high >= score AND confidence_high <= 1000);
alter table score_snapshots add constraint score_snapshots_check2 CHECK (source_count >= 0 AND source_count <= evidence_count);
alter table score_snapshots add constraint score_snapshots_check3 CHECK ((state = 'active'::text) = (ended_at IS NULL));
alter table score_snapshots add constraint score_snapshots_check4 CHECK ((change = 'first'::text) = (previous_id IS NULL));
alter table score_snapshots add constraint score_snapshots_check5 CHECK ((change = 'revised'::text) = (reason IS NOT NULL));
alter table score_snapshots add constraint score_snapshots_check6 CHECK (dispute_id IS NULL OR reason IS NOT NULL);
alter table score_snapshots add constraint score_snapshots_check7 CHECK ((vc_sha256 IS NULL) = (status_token IS NULL));
alter table score_snapshots add constraint score_snapshots_engine_sha256_check CHECK (length(engine_sha256) = 32);
alter table score_snapshots add constraint score_snapshots_evidence_count_check CHECK (evidence_count >= 0);
alter table score_snapshots add constraint score_snapshots_evidence_root_check CHECK (length(evidence_root) = 32);
alter table score_snapshots add constraint score_snapshots_reason_check CHECK (reason = ANY (ARRAY['correction'::text, 'evidence_revoked'::text, 'dispute_upheld'::text, 'engine_correction'::text, 'identity_change'::text]));
alter table score_snapshots add constraint score_snapshots_score_check CHECK (score >= 0 AND score <= 1000);
alter table score_snapshots add constraint score_snapshots_snapshot_id_check CHECK (length(snapshot_id) = 32);
alter table score_snapshots add constraint score_snapshots_state_check CHECK (state = ANY (ARRAY['active'::text, 'superseded'::text, 'withdrawn'::text]));
alter table score_workings add constraint score_workings_pkey PRIMARY KEY (snapshot_id);
alter table score_workings add constraint score_workings_nonce_check CHECK (length(nonce) = 32);
alter table scoring_vocabularies add constraint scoring_vocabularies_pkey PRIMARY KEY (vocabulary_sha256);
alter table scoring_vocabularies add constraint scoring_vocabularies_check CHECK (vocabulary_sha256 = sha256(convert_to(rules, 'UTF8'::name)));
alter table search_entries add constraint search_entries_username_key UNIQUE (username);
alter table search_entries add constraint search_entries_pkey PRIMARY KEY (worker_id);
alter table search_queue add constraint search_queue_pkey PRIMARY KEY (worker_id);
alter table search_terms add constraint search_terms_pkey PRIMARY KEY (kind, term, rank, username);
alter table search_vocabulary add constraint search_vocabulary_pkey PRIMARY KEY (singleton);
alter table search_vocabulary add constraint search_vocabulary_singleton_check CHECK (singleton);
alter table sessions add constraint sessions_digest_key UNIQUE (digest);
alter table sessions add constraint sessions_pkey PRIMARY KEY (id);
alter table sessions add constraint sessions_browser_check CHECK (char_length(browser) >= 1 AND char_length(browser) <= 60);
alter table sessions add constraint sessions_check CHECK (ends_at > created_at);
alter table sessions add constraint sessions_digest_check CHECK (length(digest) = 32);
alter table sessions add constraint sessions_network_check CHECK (char_length(network) >= 1 AND char_length(network) <= 60);
alter table sign_in_links add constraint sign_in_links_pkey PRIMARY KEY (digest);
alter table sign_in_links add constraint sign_in_links_digest_check CHECK (length(digest) = 32);
alter table signing_keys add constraint signing_keys_public_key_key UNIQUE (public_key);
alter table signing_keys add constraint signing_keys_pkey PRIMARY KEY (kid);
alter table signing_keys add constraint signing_keys_check CHECK (credentials_revoked_at IS NULL OR state = 'revoked'::text);
alter table signing_keys add constraint signing_keys_check1 CHECK ((state = 'revoked'::text) = (revoked_at IS NOT NULL));
alter table signing_keys add constraint signing_keys_check2 CHECK (state <> 'pending'::text OR activated_at IS NULL);
alter table signing_keys add constraint signing_keys_check3 CHECK ((state <> ALL (ARRAY['active'::text, 'retired'::text])) OR activated_at IS NOT NULL);
alter table signing_keys add constraint signing_keys_check4 CHECK (state <> 'active'::text OR retired_at IS NULL);
alter table signing_keys add constraint signing_keys_check5 CHECK (state <> 'retired'::text OR retired_at IS NOT NULL);
alter table signing_keys add constraint signing_keys_check6 CHECK (reissues_marked_at IS NULL OR state = 'revoked'::text);
alter table signing_keys add constraint signing_keys_kid_check CHECK (kid ~ '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$'::text);
alter table signing_keys add constraint signing_keys_public_key_check CHECK (length(public_key) = 32);
alter table signing_keys add constraint signing_keys_state_check CHECK (state = ANY (ARRAY['pending'::text, 'active'::text, 'retired'::text, 'revoked'::text]));
alter table source_changes add constraint source_changes_pkey PRIMARY KEY (source_id, number);
alter table source_changes add constraint source_changes_number_check CHECK (number > 0);
alter table sources add constraint sources_pkey PRIMARY KEY (source_id);
alter table sources add constraint sources_assurance_check CHECK (assurance >= 0 AND assurance <= 1000);
alter table sources add constraint sources_check CHECK ((issuer IS NULL) = (cardinality(public_keys) = 0));
alter table sources add constraint sources_issuer_check CHECK (length(issuer) <= 2048);
alter table sources add constraint sources_source_id_check CHECK (source_id ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text AND length(source_id) <= 64);
alter table status_changes add constraint status_changes_pkey PRIMARY KEY (part, began_at);
alter table status_changes add constraint status_changes_state_check CHECK (state = ANY (ARRAY['limited'::text, 'fails'::text]));
alter table status_lists add constraint status_lists_pkey PRIMARY KEY (list_id);
alter table status_lists add constraint status_lists_check CHECK ((closed_at IS NULL) = (dies_at IS NULL));
alter table status_lists add constraint status_lists_check1 CHECK (published_revision <= revision);
alter table status_lists add constraint status_lists_list_id_check CHECK (list_id ~ '^[a-z2-7]{10}$'::text);
alter table status_looks add constraint status_looks_pkey PRIMARY KEY (only_row);
alter table status_looks add constraint status_looks_only_row_check CHECK (only_row);
alter table user_identities add constraint user_identities_user_id_issuer_key UNIQUE (user_id, issuer);
alter table user_identities add constraint user_identities_pkey PRIMARY KEY (issuer, subject);
alter table user_identities add constraint user_identities_issuer_check CHECK (octet_length(issuer) >= 1 AND octet_length(issuer) <= 1000);
alter table user_identities add constraint user_identities_subject_check CHECK (octet_length(subject) >= 1 AND octet_length(subject) <= 1000);
alter table user_networks add constraint user_networks_pkey PRIMARY KEY (user_id, network);
alter table user_networks add constraint user_networks_network_check CHECK (char_length(network) >= 1 AND char_length(network) <= 60);
alter table usernames add constraint usernames_worker_id_username_sha256_key UNIQUE (worker_id, username_sha256);
alter table usernames add constraint usernames_pkey PRIMARY KEY (username_sha256);
alter table usernames add constraint usernames_username_sha256_check CHECK (length(username_sha256) = 32);
alter table users add constraint users_email_key UNIQUE (email);
alter table users add constraint users_pkey PRIMARY KEY (id);
alter table users add constraint users_email_check CHECK (email = lower(email) AND char_length(email) <= 254 AND email ~ '^[^\s<>@]{1,64}@[a-z0-9.-]{1,253}$'::text);
alter table users add constraint users_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 120 AND name !~ '[[:cntrl:]]'::text);
alter table webhook_attempts add constraint webhook_attempts_pkey PRIMARY KEY (id);
alter table webhook_attempts add constraint webhook_attempts_result_check CHECK (result = ANY (ARRAY['succeeded'::text, 'failed'::text, 'interrupted'::text]));
alter table webhook_deliveries add constraint webhook_deliveries_event_seq_endpoint_id_trigger_ref_key UNIQUE (event_seq, endpoint_id, trigger_ref);
alter table webhook_deliveries add constraint webhook_deliveries_pkey PRIMARY KEY (id);
alter table webhook_deliveries add constraint webhook_deliveries_check CHECK ((event_seq IS NULL) = (body IS NOT NULL));
alter table webhook_deliveries add constraint webhook_deliveries_check1 CHECK ((status = 'sending'::text) = (lease_id IS NOT NULL));
alter table webhook_deliveries add constraint webhook_deliveries_check2 CHECK ((status = 'sending'::text) = (lease_until IS NOT NULL));
alter table webhook_deliveries add constraint webhook_deliveries_check3 CHECK ((status = ANY (ARRAY['pending'::text, 'sending'::text])) = (finished_at IS NULL));
alter table webhook_deliveries add constraint webhook_deliveries_status_check CHECK (status = ANY (ARRAY['pending'::text, 'sending'::text, 'succeeded'::text, 'exhausted'::text, 'cancelled'::text]));
alter table webhook_deliveries add constraint webhook_deliveries_trigger_check CHECK (trigger = ANY (ARRAY['event'::text, 'manual'::text, 'recovery'::text, 'test'::text]));
alter table webhook_endpoints add constraint webhook_endpoints_user_id_idempotency_key_key UNIQUE (user_id, idempotency_key);
alter table webhook_endpoints add constraint webhook_endpoints_pkey PRIMARY KEY (id);
alter table webhook_endpoints add constraint webhook_endpoints_check CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL));
alter table webhook_endpoints add constraint webhook_endpoints_check1 CHECK ((idempotency_key IS NULL) = (fingerprint IS NULL));
alter table webhook_endpoints add constraint webhook_endpoints_concurrency_check CHECK (concurrency >= 1::double precision AND concurrency <= 16::double precision);
alter table webhook_endpoints add constraint webhook_endpoints_concurrency_max_check CHECK (concurrency_max >= 1 AND concurrency_max <= 16);
alter table webhook_endpoints add constraint webhook_endpoints_description_check CHECK (length(description) <= 120);
alter table webhook_endpoints add constraint webhook_endpoints_disabled_reason_check CHECK (disabled_reason = ANY (ARRAY['owner'::text, 'operator'::text, 'gone'::text, 'failing'::text]));
alter table webhook_endpoints add constraint webhook_endpoints_event_types_check CHECK (cardinality(event_types) >= 1);
alter table webhook_endpoints add constraint webhook_endpoints_fingerprint_check CHECK (length(fingerprint) = 32);
alter table webhook_endpoints add constraint webhook_endpoints_idempotency_key_check CHECK (length(idempotency_key) >= 16 AND length(idempotency_key) <= 128);
alter table webhook_endpoints add constraint webhook_endpoints_rate_per_second_check CHECK (rate_per_second >= 1 AND rate_per_second <= 1000);
alter table webhook_endpoints add constraint webhook_endpoints_url_check CHECK (length(url) <= 2048);
alter table webhook_events add constraint webhook_events_id_key UNIQUE (id);
alter table webhook_events add constraint webhook_events_position_key UNIQUE ("position");
alter table webhook_events add constraint webhook_events_pkey PRIMARY KEY (seq);
alter table webhook_feed_floor add constraint webhook_feed_floor_pkey PRIMARY KEY (only_row);
alter table webhook_feed_floor add constraint webhook_feed_floor_only_row_check CHECK (only_row);
alter table webhook_secrets add constraint webhook_secrets_pkey PRIMARY KEY (endpoint_id, version);
alter table webhook_secrets add constraint webhook_secrets_prefix_check CHECK (prefix ~ '^whsec_[A-Za-z0-9_-]{12}$'::text);
alter table webhook_secrets add constraint webhook_secrets_sealed_check CHECK (length(sealed) > 28);
alter table webhook_secrets add constraint webhook_secrets_version_check CHECK (version > 0);
alter table workers add constraint workers_external_id_key UNIQUE (external_id);
alter table workers add constraint workers_pkey PRIMARY KEY (id);
alter table workers add constraint workers_check CHECK ((terms_version IS NULL) = (terms_accepted_at IS NULL));
alter table workers add constraint workers_check1 CHECK (onboarded_at IS NULL OR terms_accepted_at IS NOT NULL);
alter table workers add constraint workers_check2 CHECK (erased_at IS NULL OR external_id IS NULL AND terms_version IS NULL AND onboarded_at IS NULL);
alter table workers add constraint workers_consent_version_check CHECK (consent_version >= 0);
alter table workers add constraint workers_external_id_check CHECK (char_length(external_id) >= 1 AND char_length(external_id) <= 200);
alter table workers add constraint workers_terms_version_check CHECK (char_length(terms_version) >= 1 AND char_length(terms_version) <= 64);
alter table x402_payments add constraint x402_payments_chain_id_asset_payer_auth_nonce_key UNIQUE (chain_id, asset, payer, auth_nonce);
alter table x402_payments add constraint x402_payments_pkey PRIMARY KEY (id);
alter table x402_payments add constraint x402_payments_amount_check CHECK (amount >= 0::numeric);
alter table x402_payments add constraint x402_payments_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text);
alter table x402_payments add constraint x402_payments_auth_nonce_check CHECK (auth_nonce ~ '^0x[0-9a-f]{64}$'::text);
alter table x402_payments add constraint x402_payments_check CHECK (found_at IS NULL OR state = 'settled'::text);
alter table x402_payments add constraint x402_payments_check1 CHECK ((state = 'settled'::text) = (settled_at IS NOT NULL));
alter table x402_payments add constraint x402_payments_check2 CHECK (state <> 'settled'::text OR tx_hash IS NOT NULL);
alter table x402_payments add constraint x402_payments_check3 CHECK ((state = ANY (ARRAY['settling'::text, 'unknown'::text])) = (sealed_payment IS NOT NULL));
alter table x402_payments add constraint x402_payments_check4 CHECK ((refund_tx_hash IS NULL) = (refunded_at IS NULL));
alter table x402_payments add constraint x402_payments_check5 CHECK (refunded_at IS NULL OR state = 'settled'::text);
alter table x402_payments add constraint x402_payments_endpoint_check CHECK (endpoint = ANY (ARRAY['score_lookup'::text, 'candidate_lookup'::text, 'candidate_search'::text]));
alter table x402_payments add constraint x402_payments_facilitator_check CHECK (facilitator = ANY (ARRAY['remote'::text, 'local'::text]));
alter table x402_payments add constraint x402_payments_idempotency_key_check CHECK (length(idempotency_key) >= 16 AND length(idempotency_key) <= 128);
alter table x402_payments add constraint x402_payments_pay_to_check CHECK (pay_to ~ '^0x[0-9a-f]{40}$'::text);
alter table x402_payments add constraint x402_payments_payer_check CHECK (payer ~ '^0x[0-9a-f]{40}$'::text);
alter table x402_payments add constraint x402_payments_refund_tx_hash_check CHECK (refund_tx_hash ~ '^0x[0-9a-f]{64}$'::text);
alter table x402_payments add constraint x402_payments_resource_key_check CHECK (length(resource_key) = 32);
alter table x402_payments add constraint x402_payments_signature_hash_check CHECK (length(signature_hash) = 32);
alter table x402_payments add constraint x402_payments_state_check CHECK (state = ANY (ARRAY['settling'::text, 'unknown'::text, 'settled'::text, 'released'::text, 'failed'::text]));
alter table x402_payments add constraint x402_payments_tx_hash_check CHECK (tx_hash ~ '^0x[0-9a-f]{64}$'::text);
alter table x402_prices add constraint x402_prices_pkey PRIMARY KEY (chain_id, asset, pay_to, endpoint, amount);
alter table x402_prices add constraint x402_prices_amount_check CHECK (amount > 0::numeric);
alter table x402_prices add constraint x402_prices_asset_check CHECK (asset ~ '^0x[0-9a-f]{40}$'::text);
alter table x402_prices add constraint x402_prices_check CHECK (payable_until > first_posted_at);
alter table x402_prices add constraint x402_prices_endpoint_check CHECK (endpoint = ANY (ARRAY['score_lookup'::text, 'candidate_lookup'::text, 'candidate_search'::text]));
alter table x402_prices add constraint x402_prices_pay_to_check CHECK (pay_to ~ '^0x[0-9a-f]{40}$'::text);

alter table api_key_uses add constraint api_key_uses_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_keys(id);
alter table api_keys add constraint api_keys_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);
alter table api_keys add constraint api_keys_predecessor_fkey FOREIGN KEY (predecessor) REFERENCES api_keys(id);
alter table audit_log add constraint audit_log_prev_seq_prev_hash_fkey FOREIGN KEY (prev_seq, prev_hash) REFERENCES audit_log(seq, hash);
alter table consent_changes add constraint consent_changes_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table consents add constraint consents_worker_id_consent_version_permission_granted_fkey FOREIGN KEY (worker_id, consent_version, permission, granted) REFERENCES consent_changes(worker_id, consent_version, permission, granted);
alter table credit_accounts add constraint credit_accounts_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);
alter table credit_archived_sums add constraint credit_archived_sums_month_fkey FOREIGN KEY (month) REFERENCES credit_archives(month);
alter table credit_audits add constraint credit_audits_account_id_fkey FOREIGN KEY (account_id) REFERENCES credit_accounts(account_id);
alter table credit_purchases add constraint credit_purchases_account_id_fkey FOREIGN KEY (account_id) REFERENCES credit_accounts(account_id);
alter table dispute_changes add constraint dispute_changes_dispute_id_fkey FOREIGN KEY (dispute_id) REFERENCES disputes(id);
alter table dispute_targets add constraint dispute_targets_dispute_id_state_fkey FOREIGN KEY (dispute_id, state) REFERENCES disputes(id, state) ON UPDATE CASCADE;
alter table dispute_targets add constraint dispute_targets_evidence_id_fkey FOREIGN KEY (evidence_id) REFERENCES evidence(evidence_id);
alter table dispute_targets add constraint dispute_targets_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table disputes add constraint disputes_resulting_snapshot_id_fkey FOREIGN KEY (resulting_snapshot_id) REFERENCES score_snapshots(snapshot_id);
alter table disputes add constraint disputes_snapshot_id_fkey FOREIGN KEY (snapshot_id) REFERENCES score_snapshots(snapshot_id);
alter table disputes add constraint disputes_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table evidence add constraint evidence_source_id_fkey FOREIGN KEY (source_id) REFERENCES sources(source_id);
alter table evidence add constraint evidence_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table evidence_private add constraint evidence_private_evidence_id_fkey FOREIGN KEY (evidence_id) REFERENCES evidence(evidence_id);
alter table identities add constraint identities_worker_id_change_state_fkey FOREIGN KEY (worker_id, change, state) REFERENCES identity_changes(worker_id, change, state);
alter table identity_changes add constraint identity_changes_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table invitation_links add constraint invitation_links_invitation_id_fkey FOREIGN KEY (invitation_id) REFERENCES invitations(id) ON DELETE CASCADE;
alter table invitations add constraint invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);
alter table invitations add constraint invitations_invited_by_fkey FOREIGN KEY (invited_by) REFERENCES users(id) ON DELETE SET NULL;
alter table mails add constraint mails_invitation_id_fkey FOREIGN KEY (invitation_id) REFERENCES invitations(id) ON DELETE CASCADE;
alter table memberships add constraint memberships_account_id_fkey FOREIGN KEY (account_id) REFERENCES accounts(id);
alter table memberships add constraint memberships_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
alter table operators add constraint operators_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
alter table profile_skills add constraint profile_skills_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES profiles(worker_id) ON DELETE CASCADE;
alter table profiles add constraint profiles_worker_id_username_sha256_fkey FOREIGN KEY (worker_id, username_sha256) REFERENCES usernames(worker_id, username_sha256);
alter table readable_profiles add constraint readable_profiles_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table readable_scores add constraint readable_scores_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table score_credentials add constraint score_credentials_kid_fkey FOREIGN KEY (kid) REFERENCES signing_keys(kid);
alter table score_credentials add constraint score_credentials_list_id_fkey FOREIGN KEY (list_id) REFERENCES status_lists(list_id);
alter table score_evaluations add constraint score_evaluations_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table score_recomputations add constraint score_recomputations_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table score_reissues add constraint score_reissues_vc_sha256_fkey FOREIGN KEY (vc_sha256) REFERENCES score_credentials(vc_sha256);
alter table score_snapshots add constraint score_snapshots_previous_id_fkey FOREIGN KEY (previous_id) REFERENCES score_snapshots(snapshot_id);
alter table score_snapshots add constraint score_snapshots_vc_sha256_fkey FOREIGN KEY (vc_sha256) REFERENCES score_credentials(vc_sha256);
alter table score_snapshots add constraint score_snapshots_vocabulary_sha256_fkey FOREIGN KEY (vocabulary_sha256) REFERENCES scoring_vocabularies(vocabulary_sha256);
alter table score_snapshots add constraint score_snapshots_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table score_workings add constraint score_workings_snapshot_id_fkey FOREIGN KEY (snapshot_id) REFERENCES score_snapshots(snapshot_id);
alter table sessions add constraint sessions_user_id_account_id_fkey FOREIGN KEY (user_id, account_id) REFERENCES memberships(user_id, account_id) ON DELETE CASCADE;
alter table sign_in_links add constraint sign_in_links_mail_id_fkey FOREIGN KEY (mail_id) REFERENCES mails(id) ON DELETE CASCADE;
alter table sign_in_links add constraint sign_in_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
alter table source_changes add constraint source_changes_source_id_fkey FOREIGN KEY (source_id) REFERENCES sources(source_id);
alter table user_identities add constraint user_identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
alter table user_networks add constraint user_networks_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE;
alter table usernames add constraint usernames_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES workers(id);
alter table users add constraint users_last_account_id_fkey FOREIGN KEY (last_account_id) REFERENCES accounts(id);
alter table webhook_attempts add constraint webhook_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES webhook_deliveries(id) ON DELETE CASCADE;
alter table webhook_deliveries add constraint webhook_deliveries_event_seq_fkey FOREIGN KEY (event_seq) REFERENCES webhook_events(seq) ON DELETE CASCADE;
alter table webhook_secrets add constraint webhook_secrets_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id);

CREATE INDEX agent_decision_reports_subject ON public.agent_decision_reports USING btree (subject);
CREATE INDEX agent_decision_reports_user ON public.agent_decision_reports USING btree (user_id, id);
CREATE UNIQUE INDEX agent_unlock_reviews_open ON public.agent_unlock_reviews USING btree (user_id) WHERE (decided_at IS NULL);
CREATE INDEX api_keys_account ON public.api_keys USING btree (account_id);
CREATE INDEX api_keys_ending ON public.api_keys USING btree (expires_at) WHERE ((revoked_at IS NULL) AND (expires_at IS NOT NULL));
CREATE INDEX credit_accounts_suspended ON public.credit_accounts USING btree (account_id) WHERE (suspended_at IS NOT NULL);
CREATE INDEX credit_entries_account ON public.credit_entries USING btree (account_id, seq);
CREATE UNIQUE INDEX dispute_targets_one_open ON public.dispute_targets USING btree (worker_id, kind, evidence_id) NULLS NOT DISTINCT WHERE (state = ANY (ARRAY['open'::text, 'under_review'::text]));
CREATE INDEX disputes_due ON public.disputes USING btree (due_at, id) WHERE (state = ANY (ARRAY['open'::text, 'under_review'::text]));
CREATE INDEX disputes_worker ON public.disputes USING btree (worker_id);
CREATE INDEX evidence_expiring ON public.evidence USING btree (expires_on) WHERE ((state = 'active'::text) AND (expires_on IS NOT NULL));
CREATE INDEX evidence_of_worker ON public.evidence USING btree (worker_id);
CREATE INDEX evidence_unrevoked_of_source ON public.evidence USING btree (source_id) WHERE (state <> 'revoked'::text);
CREATE INDEX invitation_links_invitation ON public.invitation_links USING btree (invitation_id);
CREATE INDEX invitations_email ON public.invitations USING btree (email);
CREATE UNIQUE INDEX invitations_open ON public.invitations USING btree (account_id, email) WHERE (answered_at IS NULL);
CREATE INDEX mails_due ON public.mails USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX mails_email ON public.mails USING btree (email);
CREATE INDEX mails_invitation ON public.mails USING btree (invitation_id) WHERE (invitation_id IS NOT NULL);
CREATE INDEX memberships_account ON public.memberships USING btree (account_id);
CREATE INDEX operation_replays_created ON public.operation_replays USING btree (created_at);
CREATE INDEX profiles_by_name ON public.profiles USING btree (lower(display_name) COLLATE "C");
CREATE INDEX request_counts_minute ON public.request_counts USING btree (minute);
CREATE INDEX request_log_account ON public.request_log USING btree (account_id, seq);
CREATE INDEX request_log_refused ON public.request_log USING btree (account_id, seq) WHERE (status >= 400);
CREATE INDEX request_log_request ON public.request_log USING btree (account_id, request_id);
CREATE INDEX score_credentials_name ON public.score_credentials USING btree (subject_name_sha256(subject));
CREATE UNIQUE INDEX score_credentials_one_current ON public.score_credentials USING btree (subject) WHERE (superseded_at IS NULL);
CREATE INDEX score_credentials_revoked ON public.score_credentials USING btree (list_id, list_index) WHERE (revoked_at IS NOT NULL);
CREATE INDEX score_evaluations_by_age ON public.score_evaluations USING btree (evaluated_at);
CREATE INDEX score_evaluations_ends_on ON public.score_evaluations USING btree (ends_on) WHERE (ends_on IS NOT NULL);
CREATE INDEX score_recomputations_since ON public.score_recomputations USING btree (since);
CREATE UNIQUE INDEX score_snapshots_one_active ON public.score_snapshots USING btree (worker_id) WHERE (state = 'active'::text);
CREATE INDEX score_snapshots_worker ON public.score_snapshots USING btree (worker_id);
CREATE INDEX search_queue_marked_in ON public.search_queue USING btree (marked_in);
CREATE INDEX search_terms_by_rank ON public.search_terms USING btree ("left"(term, 2), kind, rank, username, term);
CREATE INDEX sessions_end ON public.sessions USING btree (ends_at);
CREATE INDEX sessions_user ON public.sessions USING btree (user_id, account_id);
CREATE INDEX sign_in_links_mail ON public.sign_in_links USING btree (mail_id);
CREATE INDEX sign_in_links_user ON public.sign_in_links USING btree (user_id);
CREATE UNIQUE INDEX signing_keys_one_active ON public.signing_keys USING btree (state) WHERE (state = 'active'::text);
CREATE INDEX status_changes_ended ON public.status_changes USING btree (ended_at);
CREATE INDEX user_networks_old ON public.user_networks USING btree (signed_in_at);
CREATE INDEX webhook_attempts_delivery ON public.webhook_attempts USING btree (delivery_id);
CREATE INDEX webhook_attempts_endpoint ON public.webhook_attempts USING btree (endpoint_id, started_at DESC, id DESC);
CREATE INDEX webhook_deliveries_endpoint ON public.webhook_deliveries USING btree (endpoint_id, id);
CREATE INDEX webhook_deliveries_exhausted ON public.webhook_deliveries USING btree (id DESC) WHERE ((status = 'exhausted'::text) AND (trigger <> 'test'::text));
CREATE INDEX webhook_deliveries_finished ON public.webhook_deliveries USING btree (finished_at, id) WHERE (finished_at IS NOT NULL);
CREATE INDEX webhook_deliveries_leases ON public.webhook_deliveries USING btree (lease_until) WHERE (status = 'sending'::text);
CREATE INDEX webhook_deliveries_pending ON public.webhook_deliveries USING btree (endpoint_id, due_at, id) WHERE (status = 'pending'::text);
CREATE INDEX webhook_deliveries_sending ON public.webhook_deliveries USING btree (endpoint_id) WHERE (status = 'sending'::text);
CREATE INDEX webhook_deliveries_test ON public.webhook_deliveries USING btree (event_id) WHERE (event_seq IS NULL);
CREATE INDEX webhook_endpoints_active ON public.webhook_endpoints USING btree (user_id) WHERE (disabled_at IS NULL);
CREATE INDEX webhook_events_created ON public.webhook_events USING btree (created_at);
CREATE INDEX webhook_events_waiting ON public.webhook_events USING btree (seq) WHERE (("position" IS NULL) AND (withheld_at IS NULL));
CREATE INDEX webhook_events_worker ON public.webhook_events USING btree (worker_id, seq);
CREATE INDEX webhook_secrets_kid ON public.webhook_secrets USING btree (kid);
CREATE INDEX x402_payments_at ON public.x402_payments USING btree (state_at);
CREATE INDEX x402_payments_found ON public.x402_payments USING btree (found_at) WHERE (found_at IS NOT NULL);
CREATE INDEX x402_payments_open ON public.x402_payments USING btree (lease_until) WHERE (state = ANY (ARRAY['settling'::text, 'unknown'::text]));
CREATE INDEX x402_payments_settled ON public.x402_payments USING btree (settled_at) WHERE (state = 'settled'::text);
CREATE UNIQUE INDEX x402_purchases ON public.x402_payments USING btree (chain_id, payer, idempotency_key) WHERE ((state = ANY (ARRAY['settling'::text, 'unknown'::text, 'settled'::text])) AND (idempotency_key IS NOT NULL));

create view due_reissues as
 SELECT m.worker_id,
    m.vc_sha256,
    m.since,
    r.verified_until,
    (NOT (n.vc_sha256 IS DISTINCT FROM m.vc_sha256)) AS is_active
   FROM ((score_reissues m
     JOIN readable_scores r ON ((r.worker_id = m.worker_id)))
     JOIN score_snapshots n ON ((n.snapshot_id = r.snapshot_id)))
  WHERE ((NOT (EXISTS ( SELECT
           FROM engine_recalls e
          WHERE (e.engine_sha256 = n.engine_sha256)))) AND ((n.vc_sha256 = m.vc_sha256) OR (EXISTS ( SELECT
           FROM (score_credentials c
             JOIN signing_keys k USING (kid))
          WHERE ((c.vc_sha256 = n.vc_sha256) AND (c.revoked_at IS NULL) AND (k.revoked_at IS NULL))))));
create view gate_profiles as
 SELECT worker_id,
    username
   FROM profiles p
  WHERE (( SELECT (w.onboarded_at IS NOT NULL)
           FROM workers w
          WHERE (w.id = p.worker_id)) AND ( SELECT c.granted
           FROM consents c
          WHERE ((c.worker_id = p.worker_id) AND (c.permission = 'public_profile'::text))));
create view import_ends as
 SELECT import_id,
    (seen_at + '00:00:10'::interval) AS ends_at
   FROM evidence_imports;
create view public_profiles as
 SELECT r.worker_id,
    r.username,
    p.display_name,
    p.title,
    p.bio,
    p.avatar_url,
    p.member_since,
    ( SELECT COALESCE(json_agg(json_build_object('name', s.name, 'verified', s.verified, 'level', s.level) ORDER BY s.place), '[]'::json) AS "coalesce"
           FROM profile_skills s
          WHERE (s.worker_id = r.worker_id)) AS skills
   FROM (readable_profiles r
     CROSS JOIN LATERAL ( SELECT profiles.worker_id,
            profiles.username,
            profiles.username_sha256,
            profiles.display_name,
            profiles.title,
            profiles.bio,
            profiles.avatar_url,
            profiles.member_since,
            profiles.updated_at
           FROM profiles
          WHERE (profiles.worker_id = r.worker_id)
         OFFSET 0) p);
create view public_scores as
 SELECT r.worker_id,
    p.username,
    p.display_name,
    p.avatar_url,
    r.verified_until,
    r.snapshot_id,
    n.score,
    n.confidence_low,
    n.confidence_high,
    n.band,
    n.evidence_count,
    n.engine_version,
    n.issued_at,
    v.vc_sha256,
    v.status_token,
    v.list_id,
    v.payload,
    v.proof
   FROM (((readable_scores r
     CROSS JOIN LATERAL ( SELECT profiles.worker_id,
            profiles.username,
            profiles.username_sha256,
            profiles.display_name,
            profiles.title,
            profiles.bio,
            profiles.avatar_url,
            profiles.member_since,
            profiles.updated_at
           FROM profiles
          WHERE (profiles.worker_id = r.worker_id)
         OFFSET 0) p)
     CROSS JOIN LATERAL ( SELECT score_snapshots.snapshot_id,
            score_snapshots.worker_id,
            score_snapshots.previous_id,
            score_snapshots.state,
            score_snapshots.change,
            score_snapshots.reason,
            score_snapshots.dispute_id,
            score_snapshots.as_of,
            score_snapshots.engine_id,
            score_snapshots.engine_version,
            score_snapshots.engine_sha256,
            score_snapshots.vocabulary_sha256,
            score_snapshots.evidence_root,
            score_snapshots.score,
            score_snapshots.confidence_low,
            score_snapshots.confidence_high,
            score_snapshots.band,
            score_snapshots.evidence_count,
            score_snapshots.source_count,
            score_snapshots.issued_at,
            score_snapshots.ended_at,
            score_snapshots.vc_sha256,
            score_snapshots.status_token
           FROM score_snapshots
          WHERE (score_snapshots.snapshot_id = r.snapshot_id)
         OFFSET 0) n)
     LEFT JOIN LATERAL ( SELECT score_credentials.vc_sha256,
            score_credentials.status_token,
            score_credentials.credential_id,
            score_credentials.subject,
            score_credentials.list_id,
            score_credentials.list_index,
            score_credentials.kid,
            score_credentials.payload,
            score_credentials.proof,
            score_credentials.issued_at,
            score_credentials.valid_until,
            score_credentials.superseded_at,
            score_credentials.revoked_at
           FROM score_credentials
          WHERE ((score_credentials.vc_sha256 = n.vc_sha256) AND (score_credentials.revoked_at IS NULL) AND (score_credentials.kid <> ALL (ARRAY( SELECT k.kid
                   FROM signing_keys k
                  WHERE (k.revoked_at IS NOT NULL)))))
         OFFSET 0) v ON (true));
create view backlog as
 SELECT ( SELECT min(score_recomputations.since) AS min
           FROM score_recomputations
          WHERE is_recomputation_due(score_recomputations.since, score_recomputations.imports, ARRAY( SELECT import_ends.import_id
                   FROM import_ends
                  WHERE (import_ends.ends_at > now())), now())) AS score_due_since,
    ( SELECT min(webhook_events.created_at) AS min
           FROM webhook_events
          WHERE ((webhook_events."position" IS NULL) AND (webhook_events.withheld_at IS NULL))) AS event_undispatched_since,
    ( SELECT min(status_lists.published_at) AS min
           FROM status_lists
          WHERE ((status_lists.dies_at IS NULL) OR (status_lists.dies_at > now()))) AS list_published_at,
    ( SELECT (count(*))::integer AS count
           FROM mails
          WHERE (mails.due_at IS NOT NULL)) AS mails_waiting,
    ( SELECT (count(*))::integer AS count
           FROM disputes
          WHERE ((disputes.state = ANY (ARRAY['open'::text, 'under_review'::text])) AND (disputes.due_at <= now()))) AS disputes_overdue,
    ( SELECT (count(*))::integer AS count
           FROM api_keys
          WHERE ((api_keys.revoked_at IS NULL) AND (api_keys.expires_at > now()) AND (api_keys.expires_at <= (now() + '7 days'::interval)))) AS api_keys_ending,
    ( SELECT (count(*))::integer AS count
           FROM credit_accounts
          WHERE (credit_accounts.suspended_at IS NOT NULL)) AS books_differing,
    ( SELECT (count(*))::integer AS count
           FROM due_reissues
          WHERE (due_reissues.is_active AND (due_reissues.verified_until > now()))) AS scores_without_credential;
create view gate_scores as
 SELECT g.worker_id,
    n.snapshot_id,
    i.verified_until
   FROM ((gate_profiles g
     JOIN score_snapshots n ON (((n.worker_id = g.worker_id) AND (n.state = 'active'::text))))
     JOIN identities i ON (((i.worker_id = g.worker_id) AND (i.state = 'verified'::text))))
  WHERE (( SELECT c.granted
           FROM consents c
          WHERE ((c.worker_id = g.worker_id) AND (c.permission = 'score_sharing'::text))) AND ( SELECT (count(*) = 0)
           FROM disputes d
          WHERE ((d.worker_id = g.worker_id) AND d.restricted AND (d.state = ANY (ARRAY['open'::text, 'under_review'::text])))));

CREATE TRIGGER account_audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.account_audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the audit log is append-only');
CREATE TRIGGER api_keys_permanent BEFORE DELETE OR UPDATE OF id, account_id OR TRUNCATE ON public.api_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('an API key in the ledger is permanent');
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the audit log is append-only');
CREATE TRIGGER consent_changes_append_only BEFORE UPDATE ON public.consent_changes FOR EACH ROW WHEN (((new.actor <> 'erased'::text) OR ((to_jsonb(new.*) - 'actor'::text) <> (to_jsonb(old.*) - 'actor'::text)))) EXECUTE FUNCTION refuse_change('the history of consents is append-only');
CREATE TRIGGER consent_changes_permanent BEFORE DELETE ON public.consent_changes FOR EACH ROW EXECUTE FUNCTION refuse_change('the history of consents is append-only');
CREATE TRIGGER readable_deleted AFTER DELETE ON public.consents REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_inserted AFTER INSERT ON public.consents REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_updated AFTER UPDATE ON public.consents REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER search_deleted AFTER DELETE ON public.consents REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER search_inserted AFTER INSERT ON public.consents REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER search_updated AFTER UPDATE ON public.consents REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER credit_accounts_permanent BEFORE DELETE OR UPDATE OF account_id OR TRUNCATE ON public.credit_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('an account in the ledger is permanent');
CREATE TRIGGER credit_archived_sums_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.credit_archived_sums FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the ledger is append-only');
CREATE TRIGGER credit_archives_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.credit_archives FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the ledger is append-only');
CREATE TRIGGER credit_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.credit_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the ledger is append-only');
CREATE TRIGGER credit_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.credit_entries_default FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the ledger is append-only');
CREATE TRIGGER credit_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.credit_entries_operator FOR EACH STATEMENT EXECUTE FUNCTION refuse_change('the ledger is append-only');
CREATE TRIGGER dispute_changes_final BEFORE UPDATE ON public.dispute_changes FOR EACH ROW EXECUTE FUNCTION refuse_change('the history of a dispute never changes');
CREATE TRIGGER disputes_ended_final BEFORE UPDATE ON public.disputes FOR EACH ROW WHEN ((old.state = ANY (ARRAY['resolved'::text, 'withdrawn'::text]))) EXECUTE FUNCTION refuse_change('a dispute that has ended stays ended');
CREATE TRIGGER readable_deleted AFTER DELETE ON public.disputes REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_inserted AFTER INSERT ON public.disputes REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_updated AFTER UPDATE ON public.disputes REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER engine_recalls_append_only BEFORE UPDATE ON public.engine_recalls FOR EACH ROW WHEN (((old.marked_at IS NOT NULL) OR (((to_jsonb(new.*) - 'marked_at'::text) - 'marked_to'::text) <> ((to_jsonb(old.*) - 'marked_at'::text) - 'marked_to'::text)))) EXECUTE FUNCTION refuse_change('a recalled engine stays recalled');
CREATE TRIGGER engine_recalls_permanent BEFORE DELETE ON public.engine_recalls FOR EACH ROW EXECUTE FUNCTION refuse_change('a recalled engine stays recalled');
CREATE TRIGGER evidence_revoked_final BEFORE UPDATE ON public.evidence FOR EACH ROW WHEN (((old.state = 'revoked'::text) AND (new.state <> 'revoked'::text))) EXECUTE FUNCTION refuse_change('revoked evidence stays revoked');
CREATE TRIGGER readable_deleted AFTER DELETE ON public.identities REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_inserted AFTER INSERT ON public.identities REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_updated AFTER UPDATE ON public.identities REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER identity_changes_append_only BEFORE UPDATE ON public.identity_changes FOR EACH ROW WHEN (((new.actor <> 'erased'::text) OR ((to_jsonb(new.*) - 'actor'::text) <> (to_jsonb(old.*) - 'actor'::text)))) EXECUTE FUNCTION refuse_change('the history of identity checks is append-only');
CREATE TRIGGER identity_changes_permanent BEFORE DELETE ON public.identity_changes FOR EACH ROW EXECUTE FUNCTION refuse_change('the history of identity checks is append-only');
CREATE TRIGGER hides_deleted AFTER DELETE ON public.profile_skills REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden_profile();
CREATE TRIGGER hides_updated AFTER UPDATE ON public.profile_skills REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden_profile();
CREATE TRIGGER search_deleted AFTER DELETE ON public.profile_skills REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER search_inserted AFTER INSERT ON public.profile_skills REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER search_updated AFTER UPDATE ON public.profile_skills REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER hides_updated AFTER UPDATE ON public.profiles REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden_profile();
CREATE TRIGGER readable_deleted AFTER DELETE ON public.profiles REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_inserted AFTER INSERT ON public.profiles REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_updated AFTER UPDATE ON public.profiles REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER search_deleted AFTER DELETE ON public.profiles REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER search_inserted AFTER INSERT ON public.profiles REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER search_updated AFTER UPDATE ON public.profiles REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_change();
CREATE TRIGGER hides_deleted AFTER DELETE ON public.readable_profiles REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden();
CREATE TRIGGER hides_updated AFTER UPDATE ON public.readable_profiles REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden();
CREATE TRIGGER hides_deleted AFTER DELETE ON public.readable_scores REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden();
CREATE TRIGGER hides_updated AFTER UPDATE ON public.readable_scores REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden();
CREATE TRIGGER hides_deleted AFTER DELETE ON public.score_credentials REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden();
CREATE TRIGGER hides_updated AFTER UPDATE ON public.score_credentials REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden();
CREATE TRIGGER score_credentials_revoked_final BEFORE UPDATE ON public.score_credentials FOR EACH ROW WHEN (((old.revoked_at IS NOT NULL) AND (new.revoked_at IS DISTINCT FROM old.revoked_at))) EXECUTE FUNCTION refuse_change('a revoked credential stays revoked');
CREATE TRIGGER readable_deleted AFTER DELETE ON public.score_snapshots REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_inserted AFTER INSERT ON public.score_snapshots REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER readable_updated AFTER UPDATE ON public.score_snapshots REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_change();
CREATE TRIGGER score_snapshots_ended_final BEFORE UPDATE ON public.score_snapshots FOR EACH ROW WHEN (((old.state <> 'active'::text) AND (new.state <> old.state))) EXECUTE FUNCTION refuse_change('a score that has ended stays ended');
CREATE TRIGGER score_workings_final BEFORE UPDATE ON public.score_workings FOR EACH ROW EXECUTE FUNCTION refuse_change('the inputs of a score never change');
CREATE TRIGGER hides_deleted AFTER DELETE ON public.search_entries REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden();
CREATE TRIGGER hides_updated AFTER UPDATE ON public.search_entries REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION notice_hidden();
CREATE TRIGGER hides_updated AFTER UPDATE ON public.signing_keys FOR EACH ROW WHEN (((old.revoked_at IS DISTINCT FROM new.revoked_at) OR (old.credentials_revoked_at IS DISTINCT FROM new.credentials_revoked_at))) EXECUTE FUNCTION notice_revoked_key();
CREATE TRIGGER signing_keys_credentials_revoked_final BEFORE UPDATE ON public.signing_keys FOR EACH ROW WHEN (((old.credentials_revoked_at IS NOT NULL) AND (new.credentials_revoked_at IS DISTINCT FROM old.credentials_revoked_at))) EXECUTE FUNCTION refuse_change('the revoked credentials of a signing key stay revoked');
CREATE TRIGGER signing_keys_revoked_final BEFORE UPDATE ON public.signing_keys FOR EACH ROW WHEN (((old.revoked_at IS NOT NULL) AND (new.revoked_at IS DISTINCT FROM old.revoked_at))) EXECUTE FUNCTION refuse_change('a revoked signing key stays revoked');
CREATE TRIGGER source_changes_append_only BEFORE DELETE OR UPDATE ON public.source_changes FOR EACH ROW EXECUTE FUNCTION refuse_change('the history of a source is append-only');
CREATE TRIGGER usernames_append_only BEFORE DELETE OR UPDATE ON public.usernames FOR EACH ROW EXECUTE FUNCTION refuse_change('a username stays taken');
CREATE TRIGGER readable_updated AFTER UPDATE ON public.workers REFERENCING OLD TABLE AS unchanged NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION readable_on_onboarding();
CREATE TRIGGER search_updated AFTER UPDATE ON public.workers REFERENCING OLD TABLE AS unchanged NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION search_on_onboarding();
CREATE TRIGGER x402_payments_settled_final BEFORE UPDATE ON public.x402_payments FOR EACH ROW WHEN (((old.state = 'settled'::text) AND (new.state <> 'settled'::text))) EXECUTE FUNCTION refuse_change('a settled payment stays settled');
