-- Agent decision reports (decision D43). Only the module agent-decisions writes these tables.

-- All Idempotency-Keys of a user, for every API key. A key outlives its report, so that a repeated
-- request creates no second report and reveals nothing of the first.
create table agent_decision_keys (
  user_id uuid not null,
  idempotency_key text not null check (length(idempotency_key) between 16 and 128),
  -- SHA-256 of the canonical JSON of the normalised request. Null once the report is deleted.
  fingerprint bytea check (length(fingerprint) = 32),
  report_id uuid,
  primary key (user_id, idempotency_key),
  check ((fingerprint is null) = (report_id is null))
);

create table agent_decision_reports (
  -- UUID version 7, so that ids are in the order of creation.
  id uuid primary key,
  user_id uuid not null,
  -- One statement writes this row and the row of agent_decision_keys.
  idempotency_key text not null,
  api_key_id uuid,
  subject_kind text not null check (subject_kind in ('candidate', 'score')),
  -- A username without @, or 64 lowercase hex characters.
  subject text not null,
  decision text not null,
  outcome text not null,
  agent_name text check (length(agent_name) <= 80),
  agent_version text check (length(agent_version) <= 80),
  job_ref text check (length(job_ref) <= 120),
  reason_codes text[] not null check (cardinality(reason_codes) <= 10),
  notes text check (length(notes) <= 1000),
  -- Kept as it was sent, hence not jsonb.
  metadata json not null,
  created_at timestamptz not null
);

create index agent_decision_reports_user on agent_decision_reports (user_id, id);
-- For the erasure of a worker.
create index agent_decision_reports_subject on agent_decision_reports (subject);

-- Whether an account may report. Without a row, the setting AGENT_REPORTING_DEFAULT decides.
create table agent_reporting (
  user_id uuid primary key,
  state text not null check (state in ('unlocked', 'locked')),
  changed_at timestamptz not null
);

-- Requests of locked accounts to be unlocked; at most one is open.
create table agent_unlock_reviews (
  id uuid primary key,
  user_id uuid not null,
  requested_at timestamptz not null,
  decided_at timestamptz,
  decision text check (decision in ('approved', 'declined')),
  -- The owner's words.
  note text check (char_length(note) <= 1000),
  check ((decided_at is null) = (decision is null))
);

create unique index agent_unlock_reviews_open on agent_unlock_reviews (user_id)
  where decided_at is null;
