-- What the public reads may show (decision D33), kept apart: a read of what is hidden finds no entry in any index, exactly as a read of
-- what does not exist, so it takes the same time (decision D24). Whether an identity is still verified depends on the time: readers ask for
-- `verified_until` after now, which an index answers. Both tables are derived. Triggers keep them, with every statement that changes a
-- fact of the gate. public_candidates stays for servers of the release before.

create table readable_profiles (
  worker_id uuid primary key references workers,
  username text collate "C" not null unique
);

create table readable_scores (
  worker_id uuid primary key references workers,
  snapshot_id bytea not null,
  verified_until timestamptz not null,
  unique (snapshot_id, verified_until)
);

-- The gate as SQL; `readable` in src/workers/gate.ts says the same, and a test compares them over all combinations.
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
    where d.worker_id = g.worker_id and d.restricted and d.state in ('open', 'under_review'));

-- Locks the workers first: of two transactions that change one worker, the later one reads what the earlier one has left.
create function readable_refresh(touched uuid[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  perform from workers where id = any(touched) order by id for no key update;
  delete from readable_scores r where r.worker_id = any(touched)
    and not exists (select from gate_scores g where g.worker_id = r.worker_id
      and g.snapshot_id = r.snapshot_id and g.verified_until = r.verified_until);
  delete from readable_profiles r where r.worker_id = any(touched)
    and not exists (select from gate_profiles g where g.worker_id = r.worker_id and g.username = r.username);
  insert into readable_profiles (worker_id, username)
    select worker_id, username from gate_profiles where worker_id = any(touched)
    on conflict (worker_id) do nothing;
  insert into readable_scores (worker_id, snapshot_id, verified_until)
    select worker_id, snapshot_id, verified_until from gate_scores where worker_id = any(touched)
    on conflict (worker_id) do nothing;
end
$$;

create function readable_refresh_changed() returns trigger language plpgsql as $$
declare
  touched uuid[] := array(select distinct worker_id from changed);
begin
  if cardinality(touched) > 0 then perform readable_refresh(touched); end if;
  return null;
end
$$;

create function readable_refresh_onboarded() returns trigger language plpgsql as $$
declare
  touched uuid[] := array(
    select after.id from changed after join unchanged before using (id)
    where after.onboarded_at is distinct from before.onboarded_at);
begin
  if cardinality(touched) > 0 then perform readable_refresh(touched); end if;
  return null;
end
$$;

create trigger readable_inserted after insert on profiles referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_updated after update on profiles referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_deleted after delete on profiles referencing old table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_inserted after insert on consents referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_updated after update on consents referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_deleted after delete on consents referencing old table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_inserted after insert on identities referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_updated after update on identities referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_deleted after delete on identities referencing old table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_inserted after insert on score_snapshots referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_updated after update on score_snapshots referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_deleted after delete on score_snapshots referencing old table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_inserted after insert on disputes referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_updated after update on disputes referencing new table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_deleted after delete on disputes referencing old table as changed
  for each statement execute function readable_refresh_changed();
create trigger readable_updated after update on workers
  referencing old table as unchanged new table as changed
  for each statement execute function readable_refresh_onboarded();

select readable_refresh(array(select worker_id from profiles));

-- The rows behind are looked up by their keys, one by one (`lateral … offset 0`), however small the tables were when it was planned.
create view public_profiles as
select r.worker_id, r.username, p.display_name, p.title, p.bio, p.avatar_url, p.member_since,
  (select coalesce(json_agg(json_build_object('name', s.name, 'verified', s.verified, 'level', s.level)
      order by s.place), '[]')
    from profile_skills s where s.worker_id = r.worker_id) as skills
from readable_profiles r
cross join lateral (select * from profiles where worker_id = r.worker_id offset 0) p;

create view public_scores as
select r.worker_id, p.username, p.display_name, p.avatar_url, r.verified_until, r.snapshot_id,
  n.score, n.confidence_low, n.confidence_high, n.band, n.evidence_count, n.engine_version,
  n.issued_at, n.vc_sha256, n.status_token, v.list_id, v.payload, v.proof
from readable_scores r
cross join lateral (select * from profiles where worker_id = r.worker_id offset 0) p
cross join lateral (select * from score_snapshots where snapshot_id = r.snapshot_id offset 0) n
left join lateral (select * from score_credentials where vc_sha256 = n.vc_sha256 offset 0) v on true;
