-- Reports of what agents decided (spec §2.3). All four tables are written by the room agent-decisions alone.

-- The Idempotency-Keys of a user, for ever, whatever API key they came with. A report that is gone, by age or erasure, leaves its key: it
-- makes no second one, and tells nothing of the first.
create table agent_decision_keys (
  user_id uuid not null,
  idempotency_key text not null check (length(idempotency_key) between 16 and 128),
  -- SHA-256 of the canonical JSON of the request, normalised. Null once the report is gone.
  fingerprint bytea check (length(fingerprint) = 32),
  report_id uuid,
  primary key (user_id, idempotency_key),
  check ((fingerprint is null) = (report_id is null))
);

create table agent_decision_reports (
  -- Version 7: the time of making comes first, so that the oldest and the newest are found by it.
  id uuid primary key,
  user_id uuid not null,
  -- Of agent_decision_keys: both rows are written by one statement.
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
  -- Kept as text, as it was sent.
  metadata json not null,
  created_at timestamptz not null
);

create index agent_decision_reports_user on agent_decision_reports (user_id, id);

-- For the erasure of a person.
create index agent_decision_reports_subject on agent_decision_reports (subject);

-- Whether an account may report (decision D43). Without a row the setting AGENT_REPORTING_DEFAULT says.
create table agent_reporting (
  user_id uuid primary key,
  state text not null check (state in ('unlocked', 'locked')),
  changed_at timestamptz not null
);

create table agent_unlock_reviews (
  id uuid primary key,
  user_id uuid not null,
  requested_at timestamptz not null,
  decided_at timestamptz,
  decision text check (decision in ('approved', 'declined')),
  check ((decided_at is null) = (decision is null))
);

-- One open at a time.
create unique index agent_unlock_reviews_open on agent_unlock_reviews (user_id) where decided_at is null;
