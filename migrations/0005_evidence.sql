-- Sources and evidence. All five tables are written by the room scores alone. evidence_private is never read to compute a score, and
-- the database role of a public server has no right on it (`assay migrate --api-role`).

-- Whoever sends evidence. What it is trusted with is the operator's word, never the sender's.
create table sources (
  source_id text primary key check (source_id ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(source_id) <= 64),
  name text not null,
  kind text not null,
  assurance integer not null check (assurance between 0 and 1000),
  independence_group text not null,
  registered_at timestamptz not null,
  changed_at timestamptz not null
);

-- What each source was, from its registration on: one row for every change.
create table source_changes (
  source_id text not null references sources,
  changed_at timestamptz not null,
  actor text not null,
  name text not null,
  kind text not null,
  assurance integer not null,
  independence_group text not null,
  number integer not null check (number > 0),
  primary key (source_id, number)
);

-- A row stays for ever, so that every score can be computed again; only what stands in evidence_private can be erased.
create table evidence (
  evidence_id uuid primary key,
  worker_id uuid not null references workers,
  source_id text not null references sources,
  -- The source's own name for it: sent twice, it is the same evidence.
  external_id text not null,
  skill_id text not null,
  type text not null,
  value integer not null check (value between 0 and 1000),
  observed_on date not null check (observed_on >= '1900-01-01'),
  expires_on date check (expires_on > observed_on),
  -- SHA-256 of the artefact: one artefact counts once.
  digest bytea not null check (length(digest) = 32),
  ingested_at timestamptz not null,
  state text not null default 'active' check (state in ('active', 'excluded', 'revoked', 'expired')),
  -- The last move between states.
  state_at timestamptz not null,
  revoked_reason text
    check (revoked_reason in ('source_removed', 'source_invalid', 'worker_request', 'dispute_upheld', 'policy')),
  revoked_by text,
  unique (source_id, external_id),
  check ((state = 'revoked') = (revoked_reason is not null)),
  check ((state = 'revoked') = (revoked_by is not null)),
  check (state <> 'expired' or expires_on is not null)
);

create index evidence_of_worker on evidence (worker_id);
create index evidence_expiring on evidence (expires_on) where state = 'active' and expires_on is not null;

-- Where it came from, in words and links: for the worker and the operator. Null once it was erased.
create table evidence_private (
  evidence_id uuid primary key references evidence,
  payload text
);

-- Whose score no longer follows from the evidence. Written in the transaction that changes the evidence, under the row's lock: whoever
-- computes the score deletes the row first and reads the evidence then, so that no change falls between the two.
create table score_recomputations (
  worker_id uuid primary key references workers,
  since timestamptz not null,
  reason text not null check (reason in
    ('evidence_added', 'evidence_revoked', 'evidence_excluded', 'evidence_restored', 'evidence_expired', 'source_changed'))
) with (fillfactor = 70);

create index score_recomputations_since on score_recomputations (since);

create function keep_evidence_revoked() returns trigger language plpgsql as $$
begin
  raise exception 'revoked evidence stays revoked' using errcode = 'integrity_constraint_violation';
end
$$;

create trigger evidence_stays_revoked before update on evidence
  for each row when (old.state = 'revoked' and new.state <> 'revoked')
  execute function keep_evidence_revoked();

create trigger source_changes_stay before update or delete on source_changes
  for each row execute function refuse_change();
