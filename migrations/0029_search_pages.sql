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

-- A search reads only the steps that can find something.
--
-- The words of a query in each order are texts, with and without accents. Most of these texts begin
-- no term. So a search probes each text once for all kinds of its level, and reads the steps of a
-- level only for the texts that begin a term. The only text of a query of one word is not probed
-- with its accents, because its steps do the same. If the handles fill the page, no text is probed.
--
-- Index scans of a miss of one, two and three words: 27, 51 and 147 without the probes, 16, 13 and 33
-- with them. Processor time of PostgreSQL for a search in batches of 32 among 20,000 candidates: a
-- handle with two hyphens 519 and 284 µs, three words 525 and 403, a miss of one word 134 and 109.

-- Returns the texts that begin a term of one of the kinds, or all texts if `probe` is false.
create function search_live(kinds match_kind[], texts text, probe boolean)
returns table (texts text[]) language sql stable as $$
  select array(
    select text from (select unnest(string_to_array(texts, E'\n')) as text) begun
    where not probe or exists (
      select from search_terms t
      where t.kind = any(kinds) and t.term >= text and t.term < text || chr(1114111)))
  offset 0
$$;

-- Returns candidates with a term of one of the kinds that is among `labels`, or that is one of
-- `texts` as the name of a skill (`by_name`) or else begins with one of them.
create function search_step(
  kinds match_kind[], texts text[], by_name boolean, labels text[],
  after_rank smallint, after_username text, hits_max integer, sorted_max integer
) returns table (rank smallint, username text) language sql stable as $$
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
$$;

-- Answers a batch of searches: returns for each one the search hits as a JSON array, best match
-- first, from the place after `after_...` on. `orders` are the query with its words in each order,
-- `exact_labels` the labels of skills of which another name equals one of these, `prefix_labels` of
-- skills of which another name begins with one of these. `bare_...` are the same without accents.
-- If they differ, the kinds with accents are searched for them too (`bare_differs`).
--
-- A search reads `extra` more matches than its limit, because a candidate may match several times.
-- If too many of them were the same candidates, the search is repeated with eight times as many.
create function search_pages(
  handles text[], handles_only boolean[], limits integer[],
  orders text[], exact_labels text[], prefix_labels text[],
  bare_orders text[], bare_exact_labels text[], bare_prefix_labels text[], bare_differs boolean[],
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
$$;
