-- Computed scores. Only the module scores writes these tables. About a worker they hold only the
-- ids and the weight of evidence.

-- The scoring rules of each vocabulary that a score was computed with, so that the score can be
-- computed again after later releases.
create table scoring_vocabularies (
  vocabulary_sha256 bytea primary key
    check (vocabulary_sha256 = sha256(convert_to(rules, 'UTF8'))),
  -- Canonical JSON: for each skill id the half-life and the weight of an item of each type.
  rules text not null,
  first_used_at timestamptz not null
);

-- All scores of a worker; at most one is active. The id is a hash of everything that made the score
-- and of the nonce in score_workings.
create table score_snapshots (
  snapshot_id bytea primary key check (length(snapshot_id) = 32),
  worker_id uuid not null references workers,
  -- The active score that this one replaced.
  previous_id bytea references score_snapshots,
  state text not null check (state in ('active', 'superseded', 'withdrawn')),
  -- `updated`: the facts changed. `revised`: the previous score was wrong, for the given reason.
  change text not null check (change in ('first', 'updated', 'revised')),
  reason text check (reason in (
    'correction', 'evidence_revoked', 'dispute_upheld', 'engine_correction', 'identity_change')),
  dispute_id uuid,
  -- The day of the score, in UTC.
  as_of date not null,
  engine_id text not null,
  engine_version text not null,
  engine_sha256 bytea not null check (length(engine_sha256) = 32),
  vocabulary_sha256 bytea not null references scoring_vocabularies,
  evidence_root bytea not null check (length(evidence_root) = 32),
  score smallint not null check (score between 0 and 1000),
  confidence_low smallint not null check (confidence_low between 0 and score),
  confidence_high smallint not null check (confidence_high between score and 1000),
  band text not null
    check (band in ('emerging', 'developing', 'verified', 'strong', 'exceptional')),
  evidence_count integer not null check (evidence_count >= 0),
  source_count integer not null check (source_count between 0 and evidence_count),
  issued_at timestamptz not null,
  ended_at timestamptz,
  -- The credential of the score. Null while the worker does not allow the score to be shared.
  vc_sha256 bytea unique references score_credentials,
  status_token bytea,
  check ((state = 'active') = (ended_at is null)),
  check ((change = 'first') = (previous_id is null)),
  check ((change = 'revised') = (reason is not null)),
  check (dispute_id is null or reason is not null),
  check ((vc_sha256 is null) = (status_token is null))
) with (fillfactor = 90);

create unique index score_snapshots_one_active on score_snapshots (worker_id)
  where state = 'active';
create index score_snapshots_worker on score_snapshots (worker_id);

create trigger score_snapshots_ended_final before update on score_snapshots
  for each row when (old.state <> 'active' and new.state <> old.state)
  execute function refuse_change('a score that has ended stays ended');

-- Everything that is needed to compute a score again and to arrive at its id. A separate table,
-- because the nonce would allow to test guesses about the evidence against the public id.
create table score_workings (
  snapshot_id bytea primary key references score_snapshots,
  nonce bytea not null check (length(nonce) = 32),
  -- The scoring inputs exactly as the engine received them, as canonical JSON. They stay the same
  -- if a source or the evidence changes later.
  evidence text not null,
  -- The output of the engine, as canonical JSON.
  result text not null
);

-- Deleted only with the erasure of the worker.
create trigger score_workings_final before update on score_workings
  for each row execute function refuse_change('the inputs of a score never change');

-- When the score of each worker was last evaluated, and by which rules (a SHA-256 over engine,
-- vocabulary and minimum). Also written if the score was kept, or if there is none.
create table score_evaluations (
  worker_id uuid primary key references workers,
  evaluated_at timestamptz not null,
  rules_sha256 bytea not null check (length(rules_sha256) = 32)
);

create index score_evaluations_by_age on score_evaluations (evaluated_at);

-- Released engines that were found to be wrong. Their scores are computed again by the current
-- engine, as corrections (decision D28).
create table engine_recalls (
  engine_sha256 bytea primary key check (length(engine_sha256) = 32),
  engine_version text not null,
  reason text not null
    check (reason in ('wrong_result', 'wrong_algorithm', 'unfair', 'compromised')),
  actor text not null check (char_length(actor) between 1 and 200),
  recalled_at timestamptz not null,
  -- When all affected scores had been queued for recomputation; null until then.
  marked_at timestamptz
);

-- Only marked_at may change, once.
create trigger engine_recalls_append_only before update on engine_recalls
  for each row
  when (old.marked_at is not null or to_jsonb(new) - 'marked_at' <> to_jsonb(old) - 'marked_at')
  execute function refuse_change('a recalled engine stays recalled');
create trigger engine_recalls_permanent before delete on engine_recalls
  for each row execute function refuse_change('a recalled engine stays recalled');
