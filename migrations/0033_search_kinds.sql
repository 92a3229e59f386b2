-- What several verified skills have in common stands in the index as kinds of its own. Among all that begin with the same two letters it
-- had come first, and whoever asked for a longer beginning had to walk past it. The walk's index compares the whole term by itself.

drop function search_cards(text[], boolean[], integer[], text[], text[], integer, integer, bigint);
drop function search_skills(text, text, integer, integer, bigint);
drop function search_names(text, text, integer);
drop function search_kind(smallint, text, boolean, integer, integer, bigint);
drop function search_letter(text, integer);

-- A rank is (100 − m) * 101 + (100 − v): m skills matched, v verified skills in all. Kinds: src/candidates/terms.ts.
update search_terms set kind = case kind when 0 then 5 else 2 end
where (kind = 0 and rank < 100 * 101) or (kind = 1 and rank < 99 * 101);
update search_entries set kinds = array(
  select case when p.kind = 0 and p.rank < 100 * 101 then 5 when p.kind = 1 and p.rank < 99 * 101 then 2 else p.kind end
  from unnest(kinds, ranks) with ordinality as p(kind, rank, place) order by p.place)
where exists (
  select from unnest(kinds, ranks) as p(kind, rank)
  where (p.kind = 0 and p.rank < 100 * 101) or (p.kind = 1 and p.rank < 99 * 101));

drop index search_terms_walk;
create index search_terms_walk on search_terms (left(term, 2), kind, rank, username, term);

-- Searches read the indexes alone, of rows that are known to be seen by all.
alter table search_terms set (autovacuum_vacuum_insert_scale_factor = 0.02);

-- The functions of the language SQL are written into the statement that calls them, so that a batch of searches is planned and set up
-- once. Each gives people in the order of rank and username, `step` at most; a person may come twice, best first.

-- By a term of one kind that begins with `prefix`, which has two letters at least. `few` are sorted; more are met in a walk in their
-- order through all who share the first two letters.
create function search_kind(one smallint, prefix text, step integer, few integer)
returns table (rank smallint, username text) language sql stable as $$
  select r.rank, r.username
  from (
    select length(prefix) = 2 or exists (
      select from search_terms t where t.kind = one and t.term >= prefix and t.term < prefix || chr(1114111) offset few) as many
    offset 0
  ) m cross join lateral (
    (select t.rank, t.username from search_terms t
      where not m.many and t.kind = one and t.term >= prefix and t.term < prefix || chr(1114111)
      order by t.rank, t.username limit step)
    union all
    (select t.rank, t.username from search_terms t
      where m.many and left(t.term, 2) = left(prefix, 2) and t.kind = one
        and t.term >= prefix and t.term < prefix || chr(1114111)
      order by t.rank, t.username limit step)
  ) r
$$;

-- By the beginning of a handle, where there is one. Handles are usernames: within a rank the walk goes straight to them.
create function search_handles(prefix text, step integer)
returns table (username text) language sql stable as $$
  select t.username from search_terms t
  where left(t.term, 2) = left(prefix, 2) and t.kind = 0 and t.username >= prefix and t.username < prefix || chr(1114111)
    and exists (select from search_terms h where h.kind = 0 and h.term >= prefix and h.term < prefix || chr(1114111))
  order by t.rank, t.username limit step
$$;

-- By the first letter of a handle.
create function search_letter(letter text, step integer)
returns table (username text) language sql stable as $$
  select s.username
  from string_to_table('0123456789abcdefghijklmnopqrstuvwxyz_-', null) as next cross join lateral (
    select t.rank, t.username from search_terms t
    where left(t.term, 2) = letter || next and t.kind = 0
    order by t.rank, t.username limit step
  ) s
  order by s.rank, s.username limit step
$$;

-- By a whole name of a skill, or by a skill of these labels.
create function search_names(one smallint, query text, labels text, step integer)
returns table (rank smallint, username text) language sql stable as $$
  select s.rank, s.username from (
    select query || chr(1)
    union all select query || chr(2)
    union all select label || chr(1) from string_to_table(labels, E'\n') as label
  ) as whole(term) cross join lateral (
    select t.rank, t.username from search_terms t
    where t.kind = one and t.term = whole.term
    order by t.rank, t.username limit step
  ) s
  order by s.rank, s.username limit step
$$;

-- By the beginning of a skill or of a later word of one, or by a skill of these labels.
create function search_skills(one smallint, prefix text, labels text, step integer, few integer)
returns table (rank smallint, username text) language sql stable as $$
  select s.rank, s.username from (
    select k.rank, k.username from search_kind(one, prefix, step, few) k
    union all
    select l.rank, l.username from string_to_table(labels, E'\n') as label cross join lateral (
      select t.rank, t.username from search_terms t
      where t.kind = one and t.term = label || chr(1)
      order by t.rank, t.username limit step
    ) l
  ) s
  order by s.rank, s.username limit step
$$;

-- What each search shows, as JSON, in the order of the searches (decision D35). Queries are folded; a single letter finds what equals it.
-- `same` and `akin` are lines: labels of skills that the query is another name of, or the beginning of another name. `more` than are
-- wanted are looked at; where too many of them were the same people, the search is made again, with more. Nothing but the walk can give
-- the order of so many people, whatever the planner thinks of sorting them.
create function search_cards(queries text[], handles_alone boolean[], wanted integer[], same text[], akin text[],
  more integer default 24, few integer default 512)
returns setof text language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set plan_cache_mode = force_generic_plan
as $$
declare
  shown text[] := array_fill(null::text, array[cardinality(queries)]);
  left_over integer[] := array(select generate_subscripts(queries, 1));
  one record;
begin
  while cardinality(left_over) > 0 loop
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
    left_over := array(select place from unnest(shown) with ordinality as s(text, place) where s.text is null);
    more := more * 8;
  end loop;
  return query select unnest(shown);
end
$$;
