-- A search that was asked before is looked up again only where somebody has changed who may be found by it. A process keeps what it found,
-- with the snapshot that it was found in; the next time the database says whether that still stands. It always knows: who changes in the
-- index is noted here in the same transaction, and a note counts for whoever sees it and did not see it then.

-- Under which two letters something in the index has changed, and in which transaction; '' stands for any. Kept until the next epoch.
create unlogged table search_changes (
  letters text collate "C" not null,
  changed_in xid8 not null,
  primary key (letters, changed_in)
);

-- What was found in another epoch does not stand: notes of it are gone. A start of the server begins another one, and a copy of the database
-- is in another one, for there numbers of transactions may come again that somebody has seen before; after a crash there is none until the
-- worker begins it.
create unlogged table search_epoch (
  singleton boolean primary key default true check (singleton),
  epoch uuid not null default gen_random_uuid()
);
insert into search_epoch default values;

create function search_epoch_now() returns text language sql stable as $$
  select epoch || ' ' || pg_postmaster_start_time() || ' ' || (select oid from pg_database where datname = current_database())
  from search_epoch
$$;

-- Many people at once, as an import has them, touch nearly all letters: one note says so.
create function search_note_changed() returns trigger language plpgsql as $$
declare
  people_max constant integer := 16;
  touched text[] := '{""}';
begin
  if tg_op in ('INSERT', 'DELETE') then
    if (select count(*) from changed) <= people_max then
      touched := array(select distinct left(term, 2) from changed cross join unnest(changed.terms) as term);
    end if;
  end if;
  insert into search_changes (letters, changed_in)
  select t.letters, pg_current_xact_id() from unnest(touched) as t(letters)
  on conflict do nothing;
  return null;
end
$$;

create trigger search_inserted after insert on search_entries referencing new table as changed
  for each statement execute function search_note_changed();
create trigger search_deleted after delete on search_entries referencing old table as changed
  for each statement execute function search_note_changed();
create trigger search_updated after update on search_entries
  for each statement execute function search_note_changed();
create trigger search_truncated after truncate on search_entries
  for each statement execute function search_note_changed();

-- Whether what a search found in the snapshot `seen` of the epoch `since` stands: no change has been seen since under the letters that lead
-- to whom it finds: its own and those of the labels in `akin`, among which are all in `same` that begin otherwise. Too many changes to look
-- at are changes, and what a single letter found never stands.
create function search_stands(query text, akin text, seen pg_snapshot, since text) returns boolean language sql stable as $$
  select seen is not null and since = search_epoch_now() and length(query) > 1 and (
    select count(*) < 16 and coalesce(bool_and(pg_visible_in_snapshot(c.changed_in, seen)), true)
    from (
      select changed_in from search_changes
      where letters = any(array(
          select left(led || chr(1), 2) from string_to_table(query || E'\n' || akin, E'\n') as led union all select ''
        )) and changed_in >= pg_snapshot_xmin(seen)
      limit 16
    ) c
  )
$$;

drop function search_cards(text[], boolean[], integer[], text[], text[], integer, integer);

-- What each search shows, as JSON, in the order of the searches (decision D35), or '' where what was found in the snapshot `seen` of the
-- epoch `since` stands. Queries are folded; a single letter finds what equals it.
-- `same` and `akin` are lines: labels of skills that the query is another name of, or the beginning of another name. `more` than are
-- wanted are looked at; where too many of them were the same people, the search is made again, with more. Nothing but the walk can give
-- the order of so many people, whatever the planner thinks of sorting them.
create function search_cards(queries text[], handles_alone boolean[], wanted integer[], same text[], akin text[],
  seen pg_snapshot[], since text[], more integer default 24, few integer default 512)
returns setof text language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
declare
  shown text[] := array(
    select case when search_stands(queries[place], akin[place], seen[place], since[place]) then '' end
    from generate_subscripts(queries, 1) as place);
  left_over integer[];
  one record;
begin
  loop
    left_over := array(select place from unnest(shown) with ordinality as s(text, place) where s.text is null);
    exit when cardinality(left_over) = 0;
    for one in
      select q.place, (select coalesce(string_agg((
          select e.card from search_entries e where e.username = n.username), ','), '')
        from unnest(found.names) as n(username)) as cards
      from unnest(left_over) as q(place)
      cross join lateral (
        select queries[q.place] as query, length(queries[q.place]) > 1 as begins, handles_alone[q.place] as alone,
          wanted[q.place] as wanted, wanted[q.place] + more as step, same[q.place] as same, akin[q.place] as akin
        offset 0
      ) s
      cross join lateral (
        select (array_agg(p.username order by p.place))[1:s.wanted] as names, count(*) as people, sum(p.times) as met
        from (
          select f.username, min(f.place) as place, count(*) as times
          from (
            select row_number() over () as place, l.username from (
              select e.username from search_entries e where e.username = s.query
              union all select l.username from search_letter(s.query, s.step) l where s.alone and length(s.query) = 1
              union all select k.username from search_kind(5::smallint, s.query, s.step, few) k where s.begins and not s.alone
              union all select h.username from search_handles(s.query, s.step) h where s.begins
              union all select n.username from search_names(2::smallint, s.query, s.same, s.step) n where not s.alone
              union all select n.username from search_names(1::smallint, s.query, s.same, s.step) n where not s.alone
              union all select k.username from search_skills(2::smallint, s.query, s.akin, s.step, few) k
                where s.begins and not s.alone
              union all select k.username from search_skills(1::smallint, s.query, s.akin, s.step, few) k
                where s.begins and not s.alone
              union all select k.username from search_kind(3::smallint, s.query, s.step, few) k where s.begins and not s.alone
              union all select k.username from search_kind(4::smallint, s.query, s.step, few) k where s.begins and not s.alone
            ) l limit s.step
          ) f group by f.username
        ) p
      ) found
      where found.met is null or found.met < s.step or found.people >= s.wanted
    loop
      shown[one.place] := '[' || one.cards || ']';
    end loop;
    more := more * 8;
  end loop;
  return query select unnest(shown);
end
$$;
