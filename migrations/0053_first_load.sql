-- Makes the first load of workers cheaper.

-- Each of these follows from another foreign key: consents refer to consent_changes, identities to
-- identity_changes, and profiles to usernames, with the same worker.
alter table consents drop constraint consents_worker_id_fkey;
alter table identities drop constraint identities_worker_id_fkey;
alter table profiles drop constraint profiles_worker_id_fkey;

-- An import leaves the workers that search did not find before in the queue, and indexes all of them
-- in the end. If it dies, the jobs process takes them some seconds after the last one was queued.
alter table search_queue add column is_new boolean not null default false;
alter table search_queue add column queued_at timestamptz not null default now();

create or replace function search_requeue(worker_ids uuid[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
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
$$;

-- Returns the workers that a row of them may show or list. A worker whose row this transaction has
-- written, and so locked, shows nothing before it has a profile: the insert of the profile counts.
create function without_new_workers(worker_ids uuid[]) returns uuid[] language plpgsql stable
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  return array(
    select worker_id from unnest(worker_ids) as inserted(worker_id)
    where exists (select from profiles p where p.worker_id = inserted.worker_id)
      or not exists (select from workers w where w.id = inserted.worker_id
        and w.xmin = pg_current_xact_id()::xid));
end
$$;

create or replace function readable_on_change() returns trigger language plpgsql as $$
declare
  worker_ids uuid[] := array(select distinct worker_id from changed);
begin
  if tg_op = 'INSERT' then worker_ids := without_new_workers(worker_ids); end if;
  if cardinality(worker_ids) > 0 then perform readable_refresh(worker_ids); end if;
  return null;
end
$$;

create or replace function search_on_change() returns trigger language plpgsql as $$
declare
  worker_ids uuid[] := array(select distinct worker_id from changed);
begin
  if tg_op = 'INSERT' then worker_ids := without_new_workers(worker_ids); end if;
  if cardinality(worker_ids) > 0 then perform search_requeue(worker_ids); end if;
  return null;
end
$$;
