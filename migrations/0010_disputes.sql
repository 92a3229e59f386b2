-- Disputes about scores, evidence and identity. Only the module disputes writes these tables. They
-- hold no free text: the operator keeps statements and findings elsewhere.

create table disputes (
  id uuid primary key,
  worker_id uuid not null references workers,
  kind text not null check (kind in ('score', 'evidence', 'identity')),
  state text not null check (state in ('open', 'under_review', 'resolved', 'withdrawn')),
  resolution text check (resolution in ('upheld', 'partly_upheld', 'rejected')),
  -- The public score is hidden while the dispute is open or under review.
  restricted boolean not null,
  -- The active scores at the start and after the end of the dispute; null if there was none.
  snapshot_id bytea references score_snapshots,
  resulting_snapshot_id bytea references score_snapshots,
  opened_at timestamptz not null,
  due_at timestamptz not null check (due_at > opened_at),
  ended_at timestamptz,
  -- For the foreign key of dispute_targets.
  unique (id, state),
  check ((state = 'resolved') = (resolution is not null)),
  check ((state in ('resolved', 'withdrawn')) = (ended_at is not null)),
  check (resulting_snapshot_id is null or ended_at is not null),
  check (resolution is distinct from 'partly_upheld' or kind = 'evidence')
);

create index disputes_worker on disputes (worker_id);
create index disputes_due on disputes (due_at, id) where state in ('open', 'under_review');

create trigger disputes_ended_final before update on disputes
  for each row when (old.state in ('resolved', 'withdrawn'))
  execute function refuse_change('a dispute that has ended stays ended');

-- The subject of a dispute: one row for each disputed item of evidence, or one row without an item
-- for the score or the identity.
create table dispute_targets (
  dispute_id uuid not null,
  -- Copy of the state of the dispute; a change cascades.
  state text not null,
  worker_id uuid not null references workers,
  kind text not null,
  evidence_id uuid references evidence,
  -- The item is excluded from scoring until the dispute ends.
  excluded boolean not null,
  -- Outcome for an item of evidence.
  upheld boolean not null default false,
  unique nulls not distinct (dispute_id, evidence_id),
  foreign key (dispute_id, state) references disputes (id, state) on update cascade,
  check ((kind = 'evidence') = (evidence_id is not null)),
  check (evidence_id is not null or not (excluded or upheld))
);

-- One open dispute about each subject.
create unique index dispute_targets_one_open
  on dispute_targets (worker_id, kind, evidence_id) nulls not distinct
  where state in ('open', 'under_review');

-- History of each dispute.
create table dispute_changes (
  dispute_id uuid not null references disputes,
  state text not null check (state in ('open', 'under_review', 'resolved', 'withdrawn')),
  changed_at timestamptz not null,
  actor text not null,
  -- No dispute enters a state twice.
  primary key (dispute_id, state)
);

-- Deleted only with the erasure of the worker.
create trigger dispute_changes_final before update on dispute_changes
  for each row execute function refuse_change('the history of a dispute never changes');
