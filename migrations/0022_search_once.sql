-- A search of two letters counts nothing: the walk through the index meets nobody else. And what finds nobody is not put in order.

-- The first `wanted` people with a term of this kind that begins with `prefix`, which has two letters at least, and their ranks. Few are
-- sorted; of many, the walk in rank order meets the first ones soon. A person has several terms: the best rank counts, and where the
-- repeated ones leave too few, more is looked at. Planned as its caller, search_people, says.
create function search_kind(one smallint, prefix text, wanted integer, out names text[], out ranks smallint[])
language plpgsql stable
as $$
declare
  few constant integer := 1200;
  beyond constant text := prefix || chr(1114111);
  first_two constant text := left(prefix, 2);
  walks boolean := prefix = first_two;
  step integer := wanted * 2;
  met bigint;
begin
  if not walks then
    select count(*) into met from (
      select from search_terms t where t.kind = one and t.term >= prefix and t.term < beyond limit few + 1
    ) terms;
    if met = 0 then return; end if;
    walks := met > few;
  end if;
  loop
    if walks then
      select sum(m.times), array_agg(m.username), array_agg(m.rank) into met, names, ranks from (
        select w.username, min(w.rank) as rank, count(*) as times from (
          select t.username, t.rank from search_terms t
          where left(t.term, 2) = first_two and t.kind = one and starts_with(t.term, prefix)
          order by t.rank, t.username limit step
        ) w group by w.username
      ) m;
    else
      select sum(m.times), array_agg(m.username), array_agg(m.rank) into met, names, ranks from (
        select w.username, min(w.rank) as rank, count(*) as times from (
          select t.username, t.rank from search_terms t
          where t.kind = one and t.term >= prefix and t.term < beyond
          order by t.rank, t.username limit step
        ) w group by w.username
      ) m;
    end if;
    exit when met is null or met < step or cardinality(names) >= wanted;
    step := step * 4;
  end loop;
end
$$;

-- Who else is found under a prefix, after those found already.
create or replace function search_more(already text[], among smallint[], prefix text, wanted integer)
returns text[] language plpgsql stable as $$
declare
  one smallint;
  met record;
  names text[] := '{}';
  ranks smallint[] := '{}';
begin
  if cardinality(already) >= wanted then return already; end if;
  foreach one in array among loop
    select k.names, k.ranks into met from search_kind(one, prefix, wanted) k;
    names := names || met.names;
    ranks := ranks || met.ranks;
  end loop;
  if cardinality(names) = 0 then return already; end if;
  return already || array(
    select s.username from unnest(names, ranks) as s(username, rank)
    where s.username <> all(already)
    group by s.username order by min(s.rank), s.username collate "C" limit wanted - cardinality(already));
end
$$;

drop function search_prefix(smallint[], text, integer);
