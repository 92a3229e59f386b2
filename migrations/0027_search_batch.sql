-- Searches of one moment are one statement. A skill that the vocabulary knows stands in the index under its label alone, and a search that
-- meets one of its other names looks under the label. What stands in the index already is found as before; the worker writes it anew,
-- person by person.

drop function search_people(text, boolean, integer);
drop function search_more(text[], smallint[], text, integer);
drop function search_kind(smallint, text, integer);

-- One kind for each place in the order of decision D35. Behind a whole handle or a whole name of a skill stands a mark, and no mark behind
-- its parts (src/candidates/terms.ts).
alter table search_terms
  alter column kind type smallint using case kind when 5 then 0 when 2 then 1 else kind end,
  alter column term type text collate "C" using case when kind in (0, 1) then term || chr(1) else term end;
update search_entries set
  kinds = array(select case p.kind when 5 then 0 when 2 then 1 else p.kind end
    from unnest(kinds) with ordinality as p(kind, place) order by p.place),
  terms = array(select case when p.kind in (0, 1) then p.term || chr(1) else p.term end
    from unnest(kinds, terms) with ordinality as p(kind, term, place) order by p.place);

-- The functions of the language SQL are written into the statement that calls them, so that a batch of searches is planned and set up
-- once. Each gives people in the order of rank and username, `step` at most; a person may come twice, best first.

-- By a term of one kind that begins with `prefix`, which has two letters at least; `whole` leaves parts out. `few` are sorted. More are
-- met in a walk in rank order through all who share the first two letters, among the `best` of them; where that ends too soon, a row
-- without a person stands for an order that is not known.
create function search_kind(one smallint, prefix text, whole boolean, step integer, few integer, best bigint)
returns table (rank smallint, username text) language sql stable as $$
  select r.rank, r.username
  from (
    select case when length(prefix) = 2 and not whole then few + 1 else (
      select count(*) from (
        select from search_terms t where t.kind = one and t.term >= prefix and t.term < prefix || chr(1114111) limit few + 1
      ) terms) end as met
    offset 0
  ) m cross join lateral (
    (select t.rank, t.username from search_terms t
      where m.met <= few and t.kind = one and t.term >= prefix and t.term < prefix || chr(1114111)
        and (not whole or right(t.term, 1) = chr(1))
      order by t.rank, t.username limit step)
    union all
    (select w.rank, w.username from (
        select t.rank, t.username, t.term from search_terms t
        where m.met > few and left(t.term, 2) = left(prefix, 2) and t.kind = one
        order by t.rank, t.username limit greatest(best, step)
      ) w where starts_with(w.term, prefix) and (not whole or right(w.term, 1) = chr(1)) limit step)
    union all
    select -1::smallint, null where m.met > few and (whole or length(prefix) > 2)
    limit step
  ) r
$$;

-- By a whole name of a skill, or by a skill of these labels.
create function search_names(query text, labels text, step integer)
returns table (rank smallint, username text) language sql stable as $$
  select s.rank, s.username from (
    select query || chr(1) union all select query || chr(2)
    union all select label || chr(1) from string_to_table(labels, E'\n') as label
  ) as whole(term) cross join lateral (
    select t.rank, t.username from search_terms t
    where t.kind = 1 and t.term = whole.term
    order by t.rank, t.username limit step
  ) s
  order by s.rank, s.username limit step
$$;

-- By the beginning of a skill or of a later word of one, or by a skill of these labels.
create function search_skills(prefix text, labels text, step integer, few integer, best bigint)
returns table (rank smallint, username text) language sql stable as $$
  select s.rank, s.username from (
    select k.rank, k.username from search_kind(1::smallint, prefix, false, step, few, best) k
    union all
    select l.rank, l.username from string_to_table(labels, E'\n') as label cross join lateral (
      select t.rank, t.username from search_terms t
      where t.kind = 1 and t.term = label || chr(1)
      order by t.rank, t.username limit step
    ) l
  ) s
  order by s.rank, s.username limit step
$$;

-- By the first letter of a handle.
create function search_letter(letter text, step integer)
returns table (username text) language sql stable as $$
  select s.username
  from string_to_table('0123456789abcdefghijklmnopqrstuvwxyz_-', null) as next cross join lateral (
    select t.rank, t.username from search_terms t
    where left(t.term, 2) = letter || next and t.kind = 0 and right(t.term, 1) = chr(1)
    order by t.rank, t.username limit step
  ) s
  order by s.rank, s.username limit step
$$;

-- What each search shows, as JSON, in the order of the searches (decision D35). Queries are folded; a single letter finds what equals it.
-- `same` and `akin` are lines: labels of skills that the query is another name of, or the beginning of another name. What the first look
-- does not settle has another one, with more patience: `more` than are wanted are looked at, `few` sorted, the `best` walked through.
create function search_cards(queries text[], handles_alone boolean[], wanted integer[], same text[], akin text[],
  more integer default 8, few integer default 128, best bigint default 3000)
returns setof text language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
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
              union all select k.username from search_kind(0::smallint, s.query, s.alone, s.step, few, best) k where s.begins
              union all select n.username from search_names(s.query, s.same, s.step) n where not s.alone
              union all select k.username from search_skills(s.query, s.akin, s.step, few, best) k where s.begins and not s.alone
              union all select k.username from search_kind(3::smallint, s.query, false, s.step, few, best) k
                where s.begins and not s.alone
              union all select k.username from search_kind(4::smallint, s.query, false, s.step, few, best) k
                where s.begins and not s.alone
            ) l limit s.step
          ) f group by f.username
        ) p
      ) found
      where array_position(found.names, null) is null
        and (found.met is null or found.met < s.step or found.people >= s.wanted)
    loop
      shown[one.place] := '[' || one.cards || ']';
    end loop;
    left_over := array(select place from unnest(shown) with ordinality as s(text, place) where s.text is null);
    more := more * 8;
    few := few * 32;
    best := 9223372036854775807;
  end loop;
  return query select unnest(shown);
end
$$;
