-- Scores as they were computed. All four tables are written by the room scores alone, and nothing in them says more of a person than
-- the ids of evidence and what it counted.

-- The scoring rules of every vocabulary that a score was computed under, so that it can be computed again after the next release.
create table scoring_vocabularies (
  vocabulary_sha256 bytea primary key check (vocabulary_sha256 = sha256(convert_to(rules, 'UTF8'))),
  -- Canonical JSON: by skill id, the half-life and what an item of each type weighs.
  rules text not null,
  first_used_at timestamptz not null
);

-- What each worker's score was and is. The id follows from everything that made the score and from a nonce that is kept in score_workings.
create table score_snapshots (
  snapshot_id bytea primary key check (length(snapshot_id) = 32),
  worker_id uuid not null references workers,
  -- The one that was active until this one came.
  previous_id bytea references score_snapshots,
  state text not null check (state in ('active', 'superseded', 'withdrawn')),
  -- `updated`: the facts moved on. `revised`: the one before was wrong, `reason` says why.
  change text not null check (change in ('first', 'updated', 'revised')),
  reason text check (reason in
    ('correction', 'evidence_revoked', 'dispute_upheld', 'engine_correction', 'identity_change')),
  dispute_id uuid,
  -- The day the score is of, UTC.
  as_of date not null,
  engine_id text not null,
  engine_version text not null,
  engine_sha256 bytea not null check (length(engine_sha256) = 32),
  vocabulary_sha256 bytea not null references scoring_vocabularies,
  evidence_root bytea not null check (length(evidence_root) = 32),
  score smallint not null check (score between 0 and 1000),
  confidence_low smallint not null check (confidence_low between 0 and score),
  confidence_high smallint not null check (confidence_high between score and 1000),
  band text not null check (band in ('emerging', 'developing', 'verified', 'strong', 'exceptional')),
  evidence_count integer not null check (evidence_count >= 0),
  source_count integer not null check (source_count between 0 and evidence_count),
  issued_at timestamptz not null,
  ended_at timestamptz,
  -- Its credential. Null where the person does not allow the score to be shared, or took that back.
  vc_sha256 bytea unique references score_credentials,
  status_token bytea,
  check ((state = 'active') = (ended_at is null)),
  check ((change = 'first') = (previous_id is null)),
  check ((change = 'revised') = (reason is not null)),
  check (dispute_id is null or reason is not null),
  check ((vc_sha256 is null) = (status_token is null))
) with (fillfactor = 90);

create unique index score_snapshots_one_active on score_snapshots (worker_id) where state = 'active';
create index score_snapshots_worker on score_snapshots (worker_id);

-- What it takes to compute a snapshot again and to arrive at its id. Kept apart: whoever knew the nonce could try guesses of the evidence
-- against the public id.
create table score_workings (
  snapshot_id bytea primary key references score_snapshots,
  nonce bytea not null check (length(nonce) = 32),
  -- The evidence exactly as the engine was given it, canonical JSON. It stays when a source or the evidence itself is changed later.
  evidence text not null,
  -- What the engine made of it, canonical JSON.
  result text not null
);

-- When each worker's score was last held against the evidence, and under which rules (a SHA-256 over engine, vocabulary and minimum):
-- also where the score was good enough to be kept, and where there is none.
create table score_evaluations (
  worker_id uuid primary key references workers,
  evaluated_at timestamptz not null,
  rules_sha256 bytea not null check (length(rules_sha256) = 32)
);

create index score_evaluations_by_age on score_evaluations (evaluated_at);

alter table score_recomputations drop constraint score_recomputations_reason_check;
alter table score_recomputations add constraint score_recomputations_reason_check check (reason in
  ('evidence_added', 'evidence_revoked', 'evidence_excluded', 'evidence_restored', 'evidence_expired', 'source_changed',
   'sharing_allowed', 'rules_changed', 'evaluation_due', 'operator'));

create function keep_snapshot_ended() returns trigger language plpgsql as $$
begin
  raise exception 'a score that has ended stays so' using errcode = 'integrity_constraint_violation';
end
$$;

create trigger score_snapshots_stay_ended before update on score_snapshots
  for each row when (old.state <> 'active' and new.state <> old.state)
  execute function keep_snapshot_ended();

create trigger score_workings_stay before update on score_workings
  for each row execute function refuse_change();
