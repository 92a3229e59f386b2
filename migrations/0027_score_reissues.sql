-- New credentials for scores whose credential was revoked with its key or by name (decision D58).

-- Revoked credentials of scores that no event names yet. If the score is the active one of its
-- worker, it also needs a new credential. Only the module scores writes the table.
create table score_reissues (
  worker_id uuid not null,
  vc_sha256 bytea not null references score_credentials,
  since timestamptz not null,
  primary key (worker_id, vc_sha256)
);

-- After the revocation of a key its credentials are written into score_reissues page by page, in
-- the order of the ids of their scores. The revocation itself takes as long with a million
-- credentials as with one.
alter table signing_keys
  -- All scores up to this id were looked at.
  add reissues_marked_to bytea not null default '',
  -- When the last page was written; null until then.
  add reissues_marked_at timestamptz check (reissues_marked_at is null or state = 'revoked');

-- The credentials of score_reissues whose worker has a public score that is not known to be wrong.
-- The score of a recalled engine, or with a revoked credential that is not marked, waits for its
-- recomputation.
create view due_reissues as
select m.worker_id, m.vc_sha256, m.since, r.verified_until,
  n.vc_sha256 is not distinct from m.vc_sha256 as is_active
from score_reissues m
join readable_scores r on r.worker_id = m.worker_id
join score_snapshots n on n.snapshot_id = r.snapshot_id
where not exists (select from engine_recalls e where e.engine_sha256 = n.engine_sha256)
  and (n.vc_sha256 = m.vc_sha256 or exists (
    select from score_credentials c join signing_keys k using (kid)
    where c.vc_sha256 = n.vc_sha256 and c.revoked_at is null and k.revoked_at is null));

-- A credential that is revoked, or whose key is, is not in the view: the score is then read without
-- a credential. The revoked keys are read once for each statement.
create or replace view public_scores as
select r.worker_id, p.username, p.display_name, p.avatar_url, r.verified_until, r.snapshot_id,
  n.score, n.confidence_low, n.confidence_high, n.band, n.evidence_count, n.engine_version,
  n.issued_at, v.vc_sha256, v.status_token, v.list_id, v.payload, v.proof
from readable_scores r
cross join lateral (select * from profiles where worker_id = r.worker_id offset 0) p
cross join lateral (
  select * from score_snapshots where snapshot_id = r.snapshot_id offset 0) n
left join lateral (
  select * from score_credentials where vc_sha256 = n.vc_sha256 and revoked_at is null
    and kid <> all (array(select k.kid from signing_keys k where k.revoked_at is not null))
  offset 0) v on true;
