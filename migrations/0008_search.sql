-- The search index: which words lead to whom, in the order of decision D35. Written by the room candidates alone, out of what the room
-- people says. All of it is derived: empty it, put everybody into search_queue, and it grows again.

-- One row a person who may be found: exactly what of them stands in search_terms, so that it can be taken out again.
create table search_entries (
  worker_id uuid primary key,
  username text collate "C" not null unique,
  kinds smallint[] not null,
  terms text[] not null,
  ranks smallint[] not null
);

-- A word or the rest of a text from a word on, as search compares it (`foldText`). Kinds: src/candidates/terms.ts. A lower rank comes
-- first: (100 − m) * 101 + (100 − v), m the verified skills that every query matches which this term is the longest word for, v all
-- verified skills.
create table search_terms (
  kind smallint not null,
  term text collate "C" not null,
  rank smallint not null,
  username text collate "C" not null,
  primary key (kind, term, rank, username)
);

-- For words that lead to more people than one sorts: in their order already, among all that begin with the same two letters.
create index search_terms_walk on search_terms (left(term, 2), kind, rank, username) include (term);

-- Who has changed and is not in the index again. A command empties it of its own before it commits; what is left by others, the worker
-- takes up.
create table search_queue (
  worker_id uuid primary key,
  marked_in xid8 not null
);
create index search_queue_marked_in on search_queue (marked_in);

-- The names of skills that the index was built with.
create table search_vocabulary (
  singleton boolean primary key default true check (singleton),
  sha256 bytea not null
);

-- Takes people out of the index.
create function search_forget(gone uuid[]) returns void language sql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
  with entry as (
    delete from search_entries where worker_id = any(gone) returning username, kinds, terms, ranks
  )
  delete from search_terms t using entry, unnest(entry.kinds, entry.terms, entry.ranks) as posted(kind, term, rank)
  where t.kind = posted.kind and t.term = posted.term and t.rank = posted.rank
    and t.username = entry.username
$$;

-- Whoever changes what a person shows or allows takes them out of the index in the same moment, and puts them into the queue where they
-- may be found: no writer can leave in the index what is not so any more, or forget to have it indexed.
create function search_touch(touched uuid[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform search_forget(touched);
  insert into search_queue (worker_id, marked_in)
  select w.id, pg_current_xact_id() from workers w
  where w.id = any(touched) and w.onboarded_at is not null
    and exists (select from profiles p where p.worker_id = w.id)
    and (select count(*) from consents c where c.worker_id = w.id and c.granted
      and c.permission in ('public_profile', 'search_listing')) = 2
  order by w.id
  on conflict (worker_id) do update set marked_in = excluded.marked_in;
end
$$;

create function search_touch_changed() returns trigger language plpgsql as $$
declare
  touched uuid[] := array(select distinct worker_id from changed);
begin
  if cardinality(touched) > 0 then perform search_touch(touched); end if;
  return null;
end
$$;

create function search_touch_onboarded() returns trigger language plpgsql as $$
declare
  touched uuid[] := array(
    select after.id from changed after join unchanged before using (id)
    where after.onboarded_at is distinct from before.onboarded_at);
begin
  if cardinality(touched) > 0 then perform search_touch(touched); end if;
  return null;
end
$$;

create trigger search_inserted after insert on profiles referencing new table as changed
  for each statement execute function search_touch_changed();
create trigger search_updated after update on profiles referencing new table as changed
  for each statement execute function search_touch_changed();
create trigger search_deleted after delete on profiles referencing old table as changed
  for each statement execute function search_touch_changed();
create trigger search_inserted after insert on profile_skills referencing new table as changed
  for each statement execute function search_touch_changed();
create trigger search_updated after update on profile_skills referencing new table as changed
  for each statement execute function search_touch_changed();
create trigger search_deleted after delete on profile_skills referencing old table as changed
  for each statement execute function search_touch_changed();
create trigger search_inserted after insert on consents referencing new table as changed
  for each statement execute function search_touch_changed();
create trigger search_updated after update on consents referencing new table as changed
  for each statement execute function search_touch_changed();
create trigger search_deleted after delete on consents referencing old table as changed
  for each statement execute function search_touch_changed();
create trigger search_updated after update on workers
  referencing old table as unchanged new table as changed
  for each statement execute function search_touch_onboarded();

-- The first `wanted` people with a term of one of these kinds that begins with `prefix`, which has two letters at least. Few are
-- sorted; of many, the walk in rank order meets the first ones soon. A person has several terms: the best rank counts.
create function search_prefix(among smallint[], prefix text, wanted integer)
returns table (username text, rank smallint) language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  few constant integer := 1200;
  beyond constant text := prefix || chr(1114111);
  one smallint;
  step integer;
  walked integer;
  names text[];
  ranks smallint[];
begin
  foreach one in array among loop
    select count(*) into walked from (
      select from search_terms t where t.kind = one and t.term >= prefix and t.term < beyond limit few + 1
    ) counted;
    if walked <= few then
      if walked > 0 then
        return query select t.username, min(t.rank) from search_terms t
          where t.kind = one and t.term >= prefix and t.term < beyond
          group by t.username order by 2, 1 limit wanted;
      end if;
      continue;
    end if;
    step := wanted;
    loop
      step := step * 2;
      select coalesce(sum(met.times), 0), array_agg(met.username), array_agg(met.rank)
      into walked, names, ranks from (
        select w.username, min(w.rank) as rank, count(*) as times from (
          select t.username, t.rank from search_terms t
          where left(t.term, 2) = left(prefix, 2) and t.kind = one
            and t.term >= prefix and t.term < beyond
          order by t.rank, t.username limit step
        ) w group by w.username
      ) met;
      exit when walked < step or cardinality(names) >= wanted;
    end loop;
    return query select * from unnest(names, ranks);
  end loop;
end
$$;

-- Who else is found under a prefix, after those found already.
create function search_more(already text[], among smallint[], prefix text, wanted integer)
returns text[] language plpgsql stable as $$
begin
  if cardinality(already) >= wanted then return already; end if;
  return already || array(
    select s.username from search_prefix(among, prefix, wanted) s
    where s.username <> all(already)
    group by s.username order by min(s.rank), s.username limit wanted - cardinality(already));
end
$$;

-- Usernames in the order of decision D35. `query` is folded; a single letter finds what equals it, among handles what begins with it.
create function search_people(query text, handles_alone boolean, wanted integer)
returns text[] language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  already text[] := array(select e.username from search_entries e where e.username = query);
begin
  if handles_alone then
    if length(query) > 1 then return search_more(already, '{0}', query, wanted); end if;
    return array(
      select s.username
      from string_to_table('0123456789abcdefghijklmnopqrstuvwxyz_-', null) as second(letter)
      cross join lateral (
        select t.username, t.rank from search_terms t
        where left(t.term, 2) = query || second.letter and t.kind = 0
        order by t.rank, t.username limit wanted
      ) s
      where query <> ''
      order by s.rank, s.username limit wanted);
  end if;
  if length(query) > 1 then already := search_more(already, '{0,5}', query, wanted); end if;
  if cardinality(already) < wanted then
    already := already || array(
      select t.username from search_terms t
      where t.kind = 1 and t.term = query and t.username <> all(already)
      order by t.rank, t.username limit wanted - cardinality(already));
  end if;
  if length(query) > 1 then
    already := search_more(already, '{1,2}', query, wanted);
    already := search_more(already, '{3}', query, wanted);
    already := search_more(already, '{4}', query, wanted);
  end if;
  return already;
end
$$;
