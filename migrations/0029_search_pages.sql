-- Search in pages, with words in any order and without accents (decision D35). The jobs process
-- builds the index anew, because it has other terms now: hyphens, dots and slashes count as spaces
-- (`node js`), the words that they join are one word too (`nodejs`), and the four kinds
-- `bare_...` hold the terms of a candidate without accents, if these are not terms already.
--
-- A search reads steps. Each step belongs to a section of the result:
--
--   1  the whole handle                3  the whole name of a skill     7  the display name
--   2  the beginning of the handle     5  the beginning of a skill      9  the title
--
-- 4, 6, 8 and 10 are 3, 5, 7 and 9 without accents. Within a section candidates are ordered by rank
-- and username. So (section, rank, username) is the place of a candidate in the result, and a page
-- begins after such a place.
--
-- The functions return up to `hits_max` matches after a place, by rank and username. A candidate
-- may occur twice, with the better rank first. Lists are texts with one item on each line. The
-- character U+10FFFF sorts after every term with the prefix.

-- Returns candidates with a term of the kind that begins with `prefix`, which has at least two
-- letters. Up to `sorted_max` matches are sorted; more of them are read in the order of
-- search_terms_by_rank.
create function search_begins(
  of_kind match_kind, prefix text, after_rank smallint, after_username text,
  hits_max integer, sorted_max integer
) returns table (rank smallint, username text) language sql stable as $$
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
$$;

-- Returns candidates with a handle that begins with `prefix`. A handle is the username, so within a
-- rank the index leads straight to them.
create function search_handles(
  prefix text, after_rank smallint, after_username text, hits_max integer
) returns table (rank smallint, username text) language sql stable as $$
  select t.rank, t.username from search_terms t
  where left(t.term, 2) = left(prefix, 2) and t.kind = 'handle'
    and t.username >= prefix and t.username < prefix || chr(1114111)
    and (t.rank, t.username) > (after_rank, after_username)
    and exists (
      select from search_terms h
      where h.kind = 'handle' and h.term >= prefix and h.term < prefix || chr(1114111))
  order by t.rank, t.username limit hits_max
$$;

-- Returns candidates with a handle that begins with one letter. It visits each possible second
-- letter, because the index is ordered by rank below two letters only.
create function search_handle_initial(
  letter text, after_rank smallint, after_username text, hits_max integer
) returns table (rank smallint, username text) language sql stable as $$
  select hit.rank, hit.username
  from string_to_table('0123456789abcdefghijklmnopqrstuvwxyz_-', null) as second_letter
  cross join lateral (
    select t.rank, t.username from search_terms t
    where left(t.term, 2) = letter || second_letter and t.kind = 'handle'
      and (t.rank, t.username) > (after_rank, after_username)
    order by t.rank, t.username limit hits_max
  ) hit
  order by hit.rank, hit.username limit hits_max
$$;

-- Returns candidates with a term of one of the kinds that is among `whole_terms` or begins with one
-- of `prefixes`.
create function search_step(
  kinds match_kind[], whole_terms text, prefixes text, after_rank smallint, after_username text,
  hits_max integer, sorted_max integer
) returns table (rank smallint, username text) language sql stable as $$
  select hit.rank, hit.username from (
    select equal.rank, equal.username
    from unnest(kinds) as of_kind cross join string_to_table(whole_terms, E'\n') as whole_term
    cross join lateral (
      select t.rank, t.username from search_terms t
      where t.kind = of_kind and t.term = whole_term
        and (t.rank, t.username) > (after_rank, after_username)
      order by t.rank, t.username limit hits_max
    ) equal
    union all
    select begins.rank, begins.username
    from unnest(kinds) as of_kind cross join string_to_table(prefixes, E'\n') as prefix
    cross join lateral search_begins(
      of_kind => of_kind, prefix => prefix, after_rank => after_rank,
      after_username => after_username, hits_max => hits_max, sorted_max => sorted_max) begins
  ) hit
  order by hit.rank, hit.username limit hits_max
$$;

-- Answers a batch of searches: returns for each one the search hits as a JSON array, best match
-- first, from the place after `after_...` on. `names` are the terms of a skill with the query as
-- its name, `prefixes` what a match begins with, `labels` the terms of skills of which another name
-- begins with the query; `bare_...` are the same without accents. If they differ, the kinds with
-- accents are searched for them too (`bare_differs`).
--
-- A search reads `extra` more matches than its limit, because a candidate may match several times.
-- If too many of them were the same candidates, the search is repeated with eight times as many.
create function search_pages(
  handles text[], handles_only boolean[], limits integer[],
  names text[], prefixes text[], labels text[],
  bare_names text[], bare_prefixes text[], bare_labels text[], bare_differs boolean[],
  after_sections smallint[], after_ranks smallint[], after_usernames text[],
  extra integer default 24, sorted_max integer default 512
) returns setof text language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  set plan_cache_mode = force_generic_plan
as $$
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
          names[search.place] as names,
          prefixes[search.place] as prefixes,
          labels[search.place] as labels,
          bare_names[search.place] as bare_names,
          bare_prefixes[search.place] as bare_prefixes,
          bare_labels[search.place] as bare_labels,
          bare_differs[search.place] as bare_differs,
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
              from (values
                (length(s.handle) = 1 and s.only_handles, 1),
                (length(s.handle) > 1 and not s.only_handles, 2),
                (length(s.handle) > 1, 3)
              ) as step(is_read, way)
              cross join lateral (
                select
                  case when s.after_section = 2 then s.after_rank else -1 end::smallint as rank,
                  case when s.after_section = 2 then s.after_username else '' end as username
                offset 0
              ) start
              cross join lateral (
                select h.username from search_handle_initial(
                  letter => s.handle, after_rank => start.rank,
                  after_username => start.username, hits_max => s.hits_max) h
                where step.way = 1
                union all
                select h.username from search_begins(
                  of_kind => 'handle_and_skills', prefix => s.handle, after_rank => start.rank,
                  after_username => start.username, hits_max => s.hits_max,
                  sorted_max => sorted_max) h
                where step.way = 2
                union all
                select h.username from search_handles(
                  prefix => s.handle, after_rank => start.rank,
                  after_username => start.username, hits_max => s.hits_max) h
                where step.way = 3
              ) m
              where step.is_read and s.after_section <= 2
              union all
              select m.username
              from (values
                (3, 'skills'::match_kind, 'skills'::match_kind, s.names, ''),
                (3, 'skill', 'skill', s.names, ''),
                (4, 'skills', 'bare_skills', s.bare_names, ''),
                (4, 'skill', 'bare_skill', s.bare_names, ''),
                (5, 'skills', 'skills', s.labels, s.prefixes),
                (5, 'skill', 'skill', s.labels, s.prefixes),
                (6, 'skills', 'bare_skills', s.bare_labels, s.bare_prefixes),
                (6, 'skill', 'bare_skill', s.bare_labels, s.bare_prefixes),
                (7, 'name', 'name', '', s.prefixes),
                (8, 'name', 'bare_name', '', s.bare_prefixes),
                (9, 'title', 'title', '', s.prefixes),
                (10, 'title', 'bare_title', '', s.bare_prefixes)
              ) as step(section, written_kind, kind, whole_terms, prefixes)
              cross join lateral (
                select
                  case when step.written_kind <> step.kind and s.bare_differs
                    then array[step.written_kind, step.kind] else array[step.kind] end as kinds,
                  case when s.after_section = step.section
                    then s.after_rank else -1 end::smallint as rank,
                  case when s.after_section = step.section
                    then s.after_username else '' end as username
                offset 0
              ) start
              cross join lateral search_step(
                kinds => start.kinds, whole_terms => step.whole_terms,
                prefixes => step.prefixes, after_rank => start.rank,
                after_username => start.username, hits_max => s.hits_max,
                sorted_max => sorted_max) m
              where not s.only_handles and s.after_section <= step.section
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
$$;
