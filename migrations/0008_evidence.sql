-- Sources and their evidence. Only the module evidence writes these tables.

-- Systems that send evidence. The operator decides how far a source is trusted.
create table sources (
  source_id text primary key
    check (source_id ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(source_id) <= 64),
  name text not null,
  kind text not null,
  -- In thousandths.
  assurance integer not null check (assurance between 0 and 1000),
  independence_group text not null,
  registered_at timestamptz not null,
  changed_at timestamptz not null,
  -- The issuer that a credential of this source must name, and the issuer's public keys (Multikey,
  -- `z6Mk…`). The operator enters them; the service never fetches them.
  issuer text check (length(issuer) <= 2048),
  public_keys text[] not null default '{}',
  check ((issuer is null) = (cardinality(public_keys) = 0))
);

-- History of each source since its registration, one row for each change.
create table source_changes (
  source_id text not null references sources,
  changed_at timestamptz not null,
  actor text not null,
  name text not null,
  kind text not null,
  assurance integer not null,
  independence_group text not null,
  number integer not null check (number > 0),
  issuer text,
  public_keys text[] not null default '{}',
  primary key (source_id, number)
);

create trigger source_changes_append_only before update or delete on source_changes
  for each row execute function refuse_change('the history of a source is append-only');

-- A row is kept, so that each score can be computed again. It goes only with the erasure of its
-- worker.
create table evidence (
  evidence_id uuid primary key,
  worker_id uuid not null references workers,
  source_id text not null references sources,
  -- The id that the source gives it. Evidence that is sent twice is the same evidence.
  external_id text not null,
  skill_id text not null,
  type text not null,
  value integer not null check (value between 0 and 1000),
  observed_on date not null check (observed_on >= '1900-01-01'),
  expires_on date check (expires_on > observed_on),
  -- SHA-256 of the artefact: one artefact counts once.
  digest bytea not null check (length(digest) = 32),
  ingested_at timestamptz not null,
  state text not null default 'active'
    check (state in ('active', 'excluded', 'revoked', 'expired')),
  -- Time of the last change of state.
  state_at timestamptz not null,
  revoked_reason text check (revoked_reason in
    ('source_removed', 'source_invalid', 'worker_request', 'dispute_upheld', 'policy')),
  revoked_by text,
  unique (source_id, external_id),
  check ((state = 'revoked') = (revoked_reason is not null)),
  check ((state = 'revoked') = (revoked_by is not null)),
  check (state <> 'expired' or expires_on is not null)
);

create index evidence_of_worker on evidence (worker_id);
create index evidence_expiring on evidence (expires_on)
  where state = 'active' and expires_on is not null;

create trigger evidence_revoked_final before update on evidence
  for each row when (old.state = 'revoked' and new.state <> 'revoked')
  execute function refuse_change('revoked evidence stays revoked');

-- Origin of the evidence in words and links, for the worker and the operator; null after an
-- erasure. Scoring never reads it, and the database role of a public server has no right on it
-- (`assay migrate --api-role`).
create table evidence_private (
  evidence_id uuid primary key references evidence,
  payload text
);

-- Workers with a score that must be computed again. Written in the transaction that changes the
-- evidence, under the lock of the worker row. Scoring deletes the row first and reads the evidence
-- afterwards, so no change is missed.
create table score_recomputations (
  worker_id uuid primary key references workers,
  since timestamptz not null,
  reason text not null check (reason in (
    'evidence_added', 'evidence_revoked', 'evidence_excluded', 'evidence_restored',
    'evidence_expired', 'source_changed', 'sharing_allowed', 'rules_changed', 'evaluation_due',
    'operator', 'engine_recalled'))
) with (fillfactor = 70);

create index score_recomputations_since on score_recomputations (since);
