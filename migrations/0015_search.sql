-- The search index: terms, and the candidates that a search finds by them, in the order of decision
-- D35. Only the module candidates writes it. The index is derived: docs/search.md tells how to
-- rebuild it.
--
-- An example. The candidate `java-ann`, "Ann Lee", "Lead of data", has the verified skills Java and
-- JavaScript and the unverified skill Old pottery. The vocabulary knows Java (also JDK) and
-- JavaScript. The terms of the candidate (¹ and ² are control characters that no text contains):
--
--   kind               term            rank   found by
--   handle             java-ann¹      10198   java-ann, java-a, @ja
--   handle_and_skills  java            9996   ja, jav, java: the handle and two skills begin so
--   skill              java¹          10097   jdk, through the label of the skill
--   skills             java²           9996   ja, jav, java: the name of one skill, the beginning of two
--   skill              javascript¹    10097   javas, javascript
--   skill              old pottery¹   10198   old, old pottery
--   skill              pottery        10198   pot, pottery: a later word of the skill
--   name               ann lee        10198   an, ann lee
--   name               lee            10198   le, lee
--   title              lead of data   10198   lea, lead
--   title              of data        10198   of
--   title              data           10198   da, data
--
-- A lower rank is a better one. It is (100 − m) * 101 + (100 − v): m verified skills match the
-- query, v skills are verified. Equal ranks are ordered by username. m depends on the query, but
-- for one candidate it changes only at the lengths where skills part. So each term carries its own
-- m, and the terms that several verified skills share are kinds of their own. Of all terms of a
-- candidate that begin with the query, the best rank is the right one.
--
-- src/candidates/terms.ts computes the terms. A skill that the vocabulary knows is indexed by its
-- label only. A search for another of its names adds labels: `exact_labels` belong to skills with
-- an alias that equals the query, `prefix_labels` to skills with an alias or a later word that
-- begins with it.
--
-- A search for two letters may match a hundred thousand candidates, too many to sort. Therefore the
-- index search_terms_by_rank is ordered by rank below the first two letters, and a search reads its
-- first rows. Few matches of a longer prefix are sorted instead.
--
-- Planner settings: functions that are given a list of workers forbid sequential scans and hash and
-- merge joins, and search_candidates forbids sequential scans, bitmap scans and sorts and demands a
-- generic plan. The planner does not know how many rows a list or a limit stops at; left alone, it
-- would choose plans that read whole tables. The functions of language SQL have no settings of
-- their own, so that they are inlined into search_candidates and a batch of searches is planned
-- once.

-- The kind of match, best first.
create type match_kind as enum (
  -- The beginning of the handle, which verified skills share.
  'handle_and_skills',
  'handle',
  -- The name or the beginning of several verified skills.
  'skills',
  'skill',
  -- The display name, from the beginning of one of its words.
  'name',
  -- The title, from the beginning of one of its words.
  'title'
);

-- One row for each searchable candidate: the terms in search_terms, to delete them again.
create table search_entries (
  worker_id uuid primary key,
  username text collate "C" not null unique,
  kinds match_kind[] not null,
  terms text[] not null,
  ranks smallint[] not null,
  -- The search hit as JSON: username, displayName, title, avatarUrl and skills. A search reads
  -- nothing but the index.
  hit text not null
);

-- A search reads the indexes only, as far as a vacuum has marked the rows visible. Therefore
-- autovacuum runs after few inserts.
create table search_terms (
  kind match_kind not null,
  -- A text, or its rest from a later word on, as search compares it.
  term text collate "C" not null,
  rank smallint not null,
  username text collate "C" not null,
  primary key (kind, term, rank, username)
) with (autovacuum_vacuum_insert_scale_factor = 0.02);

create index search_terms_by_rank on search_terms
  (left(term, 2), kind, rank, username, term);

-- Workers that must be indexed again. A command indexes its own before it commits; the jobs process
-- indexes those that other programs leave behind.
create table search_queue (
  worker_id uuid primary key,
  -- The transaction that changed the worker.
  marked_in xid8 not null
);

create index search_queue_marked_in on search_queue (marked_in);

-- The vocabulary that the index was built with.
create table search_vocabulary (
  singleton boolean primary key default true check (singleton),
  sha256 bytea not null
);

-- Removes workers from the index.
create function search_remove(worker_ids uuid[]) returns void language sql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
  with entry as (
    delete from search_entries where worker_id = any(worker_ids)
    returning username, kinds, terms, ranks
  )
  delete from search_terms t
  using entry, unnest(entry.kinds, entry.terms, entry.ranks) as posted(kind, term, rank)
  where t.kind = posted.kind and t.term = posted.term and t.rank = posted.rank
    and t.username = entry.username
$$;

-- Removes workers from the index and queues those that search may find. Triggers call it in the
-- transaction of a change, so no program can leave an outdated entry or forget to index a worker.
create function search_requeue(worker_ids uuid[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform search_remove(worker_ids);
  insert into search_queue (worker_id, marked_in)
  select w.id, pg_current_xact_id() from workers w
  where w.id = any(worker_ids) and w.onboarded_at is not null
    and exists (select from profiles p where p.worker_id = w.id)
    and (select count(*) from consents c where c.worker_id = w.id and c.granted
      and c.permission in ('public_profile', 'search_listing')) = 2
  order by w.id
  on conflict (worker_id) do update set marked_in = excluded.marked_in;
end
$$;

create function search_on_change() returns trigger language plpgsql as $$
declare
  worker_ids uuid[] := array(select distinct worker_id from changed);
begin
  if cardinality(worker_ids) > 0 then perform search_requeue(worker_ids); end if;
  return null;
end
$$;

-- Of a worker row only the onboarding matters to search.
create function search_on_onboarding() returns trigger language plpgsql as $$
declare
  worker_ids uuid[] := array(
    select after.id from changed after join unchanged before using (id)
    where after.onboarded_at is distinct from before.onboarded_at);
begin
  if cardinality(worker_ids) > 0 then perform search_requeue(worker_ids); end if;
  return null;
end
$$;

create trigger search_updated after update on workers
  referencing old table as unchanged new table as changed
  for each statement execute function search_on_onboarding();

-- The same three triggers on each table that search shows or that lists a worker.
do $$
declare
  fact_table text;
begin
  foreach fact_table in array array['profiles', 'profile_skills', 'consents'] loop
    execute format('
      create trigger search_inserted after insert on %I referencing new table as changed
        for each statement execute function search_on_change()', fact_table);
    execute format('
      create trigger search_updated after update on %I referencing new table as changed
        for each statement execute function search_on_change()', fact_table);
    execute format('
      create trigger search_deleted after delete on %I referencing old table as changed
        for each statement execute function search_on_change()', fact_table);
  end loop;
end
$$;

-- The following functions return up to `hits_max` matches by rank and username. A candidate may
-- occur twice, with the better rank first. The character U+10FFFF sorts after every term with the
-- prefix.

-- Returns candidates with a term of the kind that begins with `prefix`, which has at least two
-- letters. Up to `sorted_max` matches are sorted; more of them are read in the order of
-- search_terms_by_rank.
create function search_prefix(
  of_kind match_kind, prefix text, hits_max integer, sorted_max integer
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
      order by t.rank, t.username limit hits_max)
    union all
    (select t.rank, t.username from search_terms t
      where matches.many and left(t.term, 2) = left(prefix, 2)
        and t.kind = of_kind and t.term >= prefix and t.term < prefix || chr(1114111)
      order by t.rank, t.username limit hits_max)
  ) hit
$$;

-- Returns candidates with a handle that begins with `prefix`. A handle is the username, so within a
-- rank the index leads straight to them.
create function search_handle_prefix(prefix text, hits_max integer)
returns table (username text) language sql stable as $$
  select t.username from search_terms t
  where left(t.term, 2) = left(prefix, 2) and t.kind = 'handle'
    and t.username >= prefix and t.username < prefix || chr(1114111)
    and exists (
      select from search_terms h
      where h.kind = 'handle' and h.term >= prefix and h.term < prefix || chr(1114111))
  order by t.rank, t.username limit hits_max
$$;

-- Returns candidates with a handle that begins with one letter. It visits each possible second
-- letter, because the index is ordered by rank below two letters only.
create function search_handle_letter(letter text, hits_max integer)
returns table (username text) language sql stable as $$
  select hit.username
  from string_to_table('0123456789abcdefghijklmnopqrstuvwxyz_-', null) as second_letter
  cross join lateral (
    select t.rank, t.username from search_terms t
    where left(t.term, 2) = letter || second_letter and t.kind = 'handle'
    order by t.rank, t.username limit hits_max
  ) hit
  order by hit.rank, hit.username limit hits_max
$$;

-- Returns candidates with a skill that has the query as its name or alias. `exact_labels` has one
-- label on each line.
create function search_skill_name(
  of_kind match_kind, query text, exact_labels text, hits_max integer
) returns table (rank smallint, username text) language sql stable as $$
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
$$;

-- Returns candidates with a skill of which a name, an alias or a later word begins with `prefix`.
-- `prefix_labels` has one label on each line.
create function search_skill_prefix(
  of_kind match_kind, prefix text, prefix_labels text, hits_max integer, sorted_max integer
) returns table (rank smallint, username text) language sql stable as $$
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
$$;

-- Answers a batch of searches: returns for each one the search hits as a JSON array, best match
-- first. Queries are folded. A query of one letter finds only equal handles and skills, or if
-- `handles_only` is set, handles that begin with it.
--
-- A search reads `extra` more matches than its limit, because a candidate may match several times.
-- If too many of them were the same candidates, the search is repeated with eight times as many.
create function search_candidates(
  queries text[], handles_only boolean[], limits integer[],
  exact_labels text[], prefix_labels text[],
  extra integer default 24, sorted_max integer default 512
) returns setof text language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  set plan_cache_mode = force_generic_plan
as $$
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
$$;
