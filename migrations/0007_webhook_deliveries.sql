-- From the outbox to the receivers (decision D37): who receives, what is still to be sent to whom, and every attempt.

create table webhook_endpoints (
  id uuid primary key,
  user_id uuid not null,
  url text not null check (length(url) <= 2048),
  description text check (length(description) <= 120),
  event_types text[] not null check (cardinality(event_types) between 1 and 6),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  disabled_at timestamptz,
  -- owner, operator, gone (the receiver answered 410) or failing (five days without success).
  disabled_reason text check (disabled_reason in ('owner', 'operator', 'gone', 'failing')),
  -- The operator holds deliveries back; they wait.
  paused_at timestamptz,
  -- The receiver asked for a pause (Retry-After); nothing is sent before.
  parked_until timestamptz,
  -- How many deliveries may be under way at once: grows with success, halves with failure. A share of the next one counts too.
  concurrency real not null default 4 check (concurrency between 1 and 16),
  concurrency_max smallint not null default 16 check (concurrency_max between 1 and 16),
  last_success_at timestamptz,
  last_failure_at timestamptz,
  -- Since the last success.
  failing_since timestamptz,
  consecutive_failures integer not null default 0,
  -- After how many hours of failing the operator was told last.
  warned_hours smallint not null default 0,
  -- One test event a minute.
  tested_at timestamptz,
  check ((disabled_at is null) = (disabled_reason is null))
) with (fillfactor = 70);

create index webhook_endpoints_active on webhook_endpoints (user_id) where disabled_at is null;

-- The signing secrets, sealed: a copy of the database signs nothing. A rotation adds a version that signs from a time on; the one before
-- it signs beside it until its end.
create table webhook_secrets (
  endpoint_id uuid not null references webhook_endpoints,
  version integer not null check (version > 0),
  -- whsec_ and the first 12 of the 43 characters.
  prefix text not null check (prefix ~ '^whsec_[A-Za-z0-9_-]{12}$'),
  -- AES-256-GCM: nonce (12 bytes), tag (16), ciphertext. Bound to endpoint and version, so that no row opens in another's place.
  sealed bytea not null check (length(sealed) > 28),
  -- Which key of the ring it is sealed with.
  kid text not null,
  signs_from timestamptz not null,
  ends_at timestamptz,
  primary key (endpoint_id, version)
);
create index webhook_secrets_kid on webhook_secrets (kid);

create table webhook_deliveries (
  id bigint generated always as identity primary key,
  endpoint_id uuid not null,
  -- Null for a test event, which has its body here and appears in no feed.
  event_seq bigint references webhook_events on delete cascade,
  event_id text not null,
  event_type text not null,
  body text,
  trigger text not null check (trigger in ('event', 'manual', 'recovery', 'test')),
  -- Empty for `event`: an event goes out by itself once. Else what asked for it, so that asking twice is one delivery.
  trigger_ref text not null default '',
  status text not null default 'pending'
    check (status in ('pending', 'sending', 'succeeded', 'exhausted', 'cancelled')),
  -- Attempts that came to an end, and the one under way.
  attempts smallint not null default 0,
  interruptions smallint not null default 0,
  due_at timestamptz not null,
  -- The attempt under way: its id, which is also what its acknowledgement must show, and until when nobody else may try.
  lease_id uuid,
  lease_until timestamptz,
  created_at timestamptz not null,
  finished_at timestamptz,
  unique (event_seq, endpoint_id, trigger_ref),
  check ((event_seq is null) = (body is not null)),
  check ((status = 'sending') = (lease_id is not null)),
  check ((status = 'sending') = (lease_until is not null)),
  check ((status in ('pending', 'sending')) = (finished_at is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

create index webhook_deliveries_pending on webhook_deliveries (endpoint_id, due_at, id)
  where status = 'pending';
create index webhook_deliveries_sending on webhook_deliveries (endpoint_id) where status = 'sending';
create index webhook_deliveries_leases on webhook_deliveries (lease_until) where status = 'sending';
create index webhook_deliveries_finished on webhook_deliveries (finished_at, id)
  where finished_at is not null;

create table webhook_attempts (
  -- Sent as the id of the attempt.
  id uuid primary key,
  delivery_id bigint not null references webhook_deliveries on delete cascade,
  endpoint_id uuid not null,
  event_id text not null,
  event_type text not null,
  attempt smallint not null,
  trigger text not null,
  result text not null check (result in ('succeeded', 'failed', 'interrupted')),
  started_at timestamptz not null,
  duration_ms integer,
  response_status smallint,
  error_code text,
  -- At most 2 KiB of text, for the owner of the endpoint.
  response_body text,
  next_attempt_at timestamptz
);

create index webhook_attempts_endpoint on webhook_attempts (endpoint_id, started_at desc, id desc);
create index webhook_attempts_delivery on webhook_attempts (delivery_id);

-- For retention.
create index webhook_events_created on webhook_events (created_at);
