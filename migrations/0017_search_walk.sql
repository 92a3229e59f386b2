-- The walk can take no other way than its index: a range on the term tempted the planner, which cannot know the prefix, to sort
-- everybody who has it.

-- The first `wanted` people with a term of one of these kinds that begins with `prefix`, which has two letters at least. Few are
-- sorted; of many, the walk in rank order meets the first ones soon. A person has several terms: the best rank counts, and where the
-- repeated ones leave too few, more is looked at. Planned as its caller, search_people, says.
create or replace function search_prefix(among smallint[], prefix text, wanted integer)
returns table (username text, rank smallint) language plpgsql stable
as $$
declare
  few constant integer := 1200;
  beyond constant text := prefix || chr(1114111);
  one smallint;
  terms_found integer;
  step integer;
  walked integer;
  names text[];
  ranks smallint[];
begin
  foreach one in array among loop
    select count(*) into terms_found from (
      select from search_terms t where t.kind = one and t.term >= prefix and t.term < beyond limit few + 1
    ) terms;
    step := wanted * 2;
    loop
      exit when terms_found = 0;
      if terms_found > few then
        select sum(met.times), array_agg(met.username), array_agg(met.rank) into walked, names, ranks from (
          select w.username, min(w.rank) as rank, count(*) as times from (
            select t.username, t.rank from search_terms t
            where left(t.term, 2) = left(prefix, 2) and t.kind = one and starts_with(t.term, prefix)
            order by t.rank, t.username limit step
          ) w group by w.username
        ) met;
      else
        select sum(met.times), array_agg(met.username), array_agg(met.rank) into walked, names, ranks from (
          select w.username, min(w.rank) as rank, count(*) as times from (
            select t.username, t.rank from search_terms t
            where t.kind = one and t.term >= prefix and t.term < beyond
            order by t.rank, t.username limit step
          ) w group by w.username
        ) met;
      end if;
      if walked < step or cardinality(names) >= wanted then
        return query select * from unnest(names, ranks);
        exit;
      end if;
      step := step * 4;
    end loop;
  end loop;
end
$$;

alter function search_people(text, boolean, integer) set plan_cache_mode = force_generic_plan;
