-- Disputes: what a person contests, and what became of it. All three tables are written by the room disputes alone. No free text: what
-- the person says and what the reviewer finds is kept where the operator keeps cases.
create table disputes (
  id uuid primary key,
  worker_id uuid not null references workers,
  kind text not null check (kind in ('score', 'evidence', 'identity')),
  state text not null check (state in ('open', 'under_review', 'resolved', 'withdrawn')),
  resolution text check (resolution in ('upheld', 'partly_upheld', 'rejected')),
  -- The public score is not shown while it is open or under review.
  restricted boolean not null,
  -- The scores that stood when it was opened and when it had ended. Null where there was none.
  snapshot_id bytea references score_snapshots,
  resulting_snapshot_id bytea references score_snapshots,
  opened_at timestamptz not null,
  due_at timestamptz not null check (due_at > opened_at),
  ended_at timestamptz,
  unique (id, state),
  check ((state = 'resolved') = (resolution is not null)),
  check ((state in ('resolved', 'withdrawn')) = (ended_at is not null)),
  check (resulting_snapshot_id is null or ended_at is not null),
  check (resolution is distinct from 'partly_upheld' or kind = 'evidence')
);

create index disputes_worker on disputes (worker_id);
create index disputes_due on disputes (due_at, id) where state in ('open', 'under_review');

-- What a dispute is about: each item of evidence that is disputed, or in one row without an item the score or the identity itself.
create table dispute_targets (
  dispute_id uuid not null,
  -- Of the dispute, and moves with it.
  state text not null,
  worker_id uuid not null references workers,
  kind text not null,
  evidence_id uuid references evidence,
  -- Set aside by this dispute until it ends.
  excluded boolean not null,
  -- Of evidence, once it is resolved.
  upheld boolean not null default false,
  foreign key (dispute_id, state) references disputes (id, state) on update cascade,
  unique nulls not distinct (dispute_id, evidence_id),
  check ((kind = 'evidence') = (evidence_id is not null)),
  check (evidence_id is not null or not (excluded or upheld))
);

-- One open dispute about one thing.
create unique index dispute_targets_one_open on dispute_targets (worker_id, kind, evidence_id) nulls not distinct
  where state in ('open', 'under_review');

-- Every state that a dispute was in, when it came to it and by whom.
create table dispute_changes (
  dispute_id uuid not null references disputes,
  state text not null check (state in ('open', 'under_review', 'resolved', 'withdrawn')),
  changed_at timestamptz not null,
  actor text not null,
  -- No state is entered twice.
  primary key (dispute_id, state)
);

create function keep_dispute_ended() returns trigger language plpgsql as $$
begin
  raise exception 'a dispute that has ended stays so' using errcode = 'integrity_constraint_violation';
end
$$;

create trigger disputes_stay_ended before update on disputes
  for each row when (old.state in ('resolved', 'withdrawn')) execute function keep_dispute_ended();

-- They go only with the person, by erasure.
create trigger dispute_changes_stay before update on dispute_changes
  for each row execute function refuse_change();

create or replace view public_candidates as
select p.worker_id, p.username, p.display_name, p.title, p.bio, p.avatar_url, p.member_since,
  (select coalesce(json_agg(json_build_object('name', s.name, 'verified', s.verified, 'level', s.level)
      order by s.place), '[]')
    from profile_skills s where s.worker_id = p.worker_id) as skills,
  w.onboarded_at is not null as onboarded,
  array(select c.permission from consents c where c.worker_id = p.worker_id and c.granted) as granted,
  i.state as identity_state, i.verified_until,
  n.snapshot_id, n.score, n.confidence_low, n.confidence_high, n.band, n.evidence_count,
  n.engine_version, n.issued_at, n.vc_sha256, n.status_token, v.list_id, v.payload, v.proof,
  exists (select from disputes d
    where d.worker_id = p.worker_id and d.restricted and d.state in ('open', 'under_review')) as restricted
from profiles p
join workers w on w.id = p.worker_id
left join identities i on i.worker_id = p.worker_id
left join score_snapshots n on n.worker_id = p.worker_id and n.state = 'active'
left join score_credentials v on v.vc_sha256 = n.vc_sha256;
