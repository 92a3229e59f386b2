-- The public reads of candidates and scores. Only the module candidates reads the views. Triggers
-- write the tables.
--
-- The tables hold exactly the rows that the public gate (decision D33) lets through. A hidden row
-- is in no index, so reading it takes as long as reading an absent one (decision D24). The tables
-- are derived: each statement that changes a fact of the gate updates them.

create table readable_profiles (
  worker_id uuid primary key references workers,
  username text collate "C" not null unique
);

-- The gate for a score also depends on the time. A reader asks for a verified_until in the future,
-- and the unique index answers that.
create table readable_scores (
  worker_id uuid primary key references workers,
  snapshot_id bytea not null,
  verified_until timestamptz not null,
  unique (snapshot_id, verified_until)
);

-- The public gate as SQL. `readable` in src/workers/gate.ts is the same rule, and a test compares
-- both over all combinations.
create view gate_profiles as
select p.worker_id, p.username
from profiles p
where (select w.onboarded_at is not null from workers w where w.id = p.worker_id)
  and (select c.granted from consents c
    where c.worker_id = p.worker_id and c.permission = 'public_profile');

create view gate_scores as
select g.worker_id, n.snapshot_id, i.verified_until
from gate_profiles g
join score_snapshots n on n.worker_id = g.worker_id and n.state = 'active'
join identities i on i.worker_id = g.worker_id and i.state = 'verified'
where (select c.granted from consents c
    where c.worker_id = g.worker_id and c.permission = 'score_sharing')
  and (select count(*) = 0 from disputes d
    where d.worker_id = g.worker_id and d.restricted
      and d.state in ('open', 'under_review'));

-- Updates the readable rows of these workers. Locks the worker rows first: of two transactions that
-- change one worker, the later one reads what the earlier one committed. Few workers are looked up
-- by their keys, however small the tables were when the statements were planned.
create function readable_refresh(worker_ids uuid[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform from workers where id = any(worker_ids) order by id for no key update;
  delete from readable_scores r where r.worker_id = any(worker_ids)
    and not exists (select from gate_scores g where g.worker_id = r.worker_id
      and g.snapshot_id = r.snapshot_id and g.verified_until = r.verified_until);
  delete from readable_profiles r where r.worker_id = any(worker_ids)
    and not exists (select from gate_profiles g
      where g.worker_id = r.worker_id and g.username = r.username);
  insert into readable_profiles (worker_id, username)
    select worker_id, username from gate_profiles where worker_id = any(worker_ids)
    on conflict (worker_id) do nothing;
  insert into readable_scores (worker_id, snapshot_id, verified_until)
    select worker_id, snapshot_id, verified_until from gate_scores
    where worker_id = any(worker_ids)
    on conflict (worker_id) do nothing;
end
$$;

create function readable_on_change() returns trigger language plpgsql as $$
declare
  worker_ids uuid[] := array(select distinct worker_id from changed);
begin
  if cardinality(worker_ids) > 0 then perform readable_refresh(worker_ids); end if;
  return null;
end
$$;

-- Of a worker row only the onboarding is a fact of the gate.
create function readable_on_onboarding() returns trigger language plpgsql as $$
declare
  worker_ids uuid[] := array(
    select after.id from changed after join unchanged before using (id)
    where after.onboarded_at is distinct from before.onboarded_at);
begin
  if cardinality(worker_ids) > 0 then perform readable_refresh(worker_ids); end if;
  return null;
end
$$;

create trigger readable_updated after update on workers
  referencing old table as unchanged new table as changed
  for each statement execute function readable_on_onboarding();

-- The same three triggers on each table with a fact of the gate.
do $$
declare
  fact_table text;
begin
  foreach fact_table in array
    array['profiles', 'consents', 'identities', 'score_snapshots', 'disputes']
  loop
    execute format('
      create trigger readable_inserted after insert on %I referencing new table as changed
        for each statement execute function readable_on_change()', fact_table);
    execute format('
      create trigger readable_updated after update on %I referencing new table as changed
        for each statement execute function readable_on_change()', fact_table);
    execute format('
      create trigger readable_deleted after delete on %I referencing old table as changed
        for each statement execute function readable_on_change()', fact_table);
  end loop;
end
$$;

-- The views join by `lateral … offset 0`, which looks each row up by its key. Otherwise a plan made
-- while the tables were small would read all rows.
create view public_profiles as
select r.worker_id, r.username, p.display_name, p.title, p.bio, p.avatar_url, p.member_since,
  (select coalesce(
      json_agg(json_build_object('name', s.name, 'verified', s.verified, 'level', s.level)
        order by s.place),
      '[]')
    from profile_skills s where s.worker_id = r.worker_id) as skills
from readable_profiles r
cross join lateral (select * from profiles where worker_id = r.worker_id offset 0) p;

create view public_scores as
select r.worker_id, p.username, p.display_name, p.avatar_url, r.verified_until, r.snapshot_id,
  n.score, n.confidence_low, n.confidence_high, n.band, n.evidence_count, n.engine_version,
  n.issued_at, n.vc_sha256, n.status_token, v.list_id, v.payload, v.proof
from readable_scores r
cross join lateral (select * from profiles where worker_id = r.worker_id offset 0) p
cross join lateral (
  select * from score_snapshots where snapshot_id = r.snapshot_id offset 0) n
left join lateral (
  select * from score_credentials where vc_sha256 = n.vc_sha256 offset 0) v on true;
