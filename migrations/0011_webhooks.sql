-- Webhooks: endpoints, events, deliveries and attempts (decision D37). Only the module webhooks
-- writes these tables.

-- The outbox. An event is written by one INSERT in the transaction of its cause. Fan-out to
-- endpoints happens after the commit.
create table webhook_events (
  -- Assigned when the event is written. If a transaction begins after another has ended, or waits
  -- for its row lock, its numbers are higher, so this is the causal order. It is no order to read
  -- by: a lower number may be committed later.
  seq bigint generated always as identity primary key,
  id text not null unique,
  type text not null,
  -- The worker that the event is about, for consent and erasure. Not part of the event.
  worker_id uuid not null,
  created_at timestamptz not null,
  -- The envelope as it is signed and sent to every endpoint, byte for byte. Therefore not jsonb.
  body text not null,
  -- Since when the event may no longer be sent, because the worker withdrew consent.
  withheld_at timestamptz,
  -- The order to read by. After the commit, one process at a time numbers the undispatched events,
  -- lowest seq first. So no event appears below a position that was read, and a cause precedes its
  -- effect. Positions are not transaction ids, so they survive dump and restore.
  position bigint unique
);

create sequence webhook_event_positions as bigint;

create index webhook_events_waiting on webhook_events (seq)
  where position is null and withheld_at is null;
create index webhook_events_worker on webhook_events (worker_id, seq);
create index webhook_events_created on webhook_events (created_at);

-- The highest position of an event that was deleted by age. A reader of the feed below it has
-- missed events and is told so.
create table webhook_feed_floor (
  only_row boolean primary key default true check (only_row),
  position bigint not null
);

insert into webhook_feed_floor (position) values (0);

create table webhook_endpoints (
  id uuid primary key,
  user_id uuid not null,
  url text not null check (length(url) <= 2048),
  description text check (length(description) <= 120),
  event_types text[] not null check (cardinality(event_types) between 1 and 6),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  disabled_at timestamptz,
  -- `gone`: the receiver answered 410. `failing`: five days without success.
  disabled_reason text check (disabled_reason in ('owner', 'operator', 'gone', 'failing')),
  -- Since when the operator holds deliveries back.
  paused_at timestamptz,
  -- Until when the receiver asked for a pause (Retry-After).
  parked_until timestamptz,
  -- Number of concurrent deliveries: grows with success, halves with failure.
  concurrency real not null default 4 check (concurrency between 1 and 16),
  concurrency_max smallint not null default 16 check (concurrency_max between 1 and 16),
  last_success_at timestamptz,
  last_failure_at timestamptz,
  -- First failure since the last success.
  failing_since timestamptz,
  consecutive_failures integer not null default 0,
  -- Hours of failing at the last warning to the operator.
  warned_hours smallint not null default 0,
  -- Last test event; at most one a minute.
  tested_at timestamptz,
  -- A repeated creation with the same Idempotency-Key returns this endpoint (decision D40). Null
  -- for an endpoint that an operator created.
  idempotency_key text check (length(idempotency_key) between 16 and 128),
  -- SHA-256 of the canonical JSON of the normalised request.
  fingerprint bytea check (length(fingerprint) = 32),
  -- Maximum deliveries a second. Null: limited by concurrency only.
  rate_per_second smallint check (rate_per_second between 1 and 1000),
  -- Time from which the rate allows another delivery. A time in the past allows a burst of up to a
  -- tenth of a second.
  rate_from timestamptz,
  unique (user_id, idempotency_key),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((idempotency_key is null) = (fingerprint is null))
) with (fillfactor = 70);

create index webhook_endpoints_active on webhook_endpoints (user_id) where disabled_at is null;

-- Signing secrets, encrypted with a key outside the database. A rotation adds a version that signs
-- from a given time on; the previous version also signs until its end.
create table webhook_secrets (
  endpoint_id uuid not null references webhook_endpoints,
  version integer not null check (version > 0),
  -- `whsec_` and the first 12 of the 43 characters.
  prefix text not null check (prefix ~ '^whsec_[A-Za-z0-9_-]{12}$'),
  -- AES-256-GCM: nonce (12 bytes), tag (16), ciphertext. Bound to endpoint and version, so that a
  -- copied row does not decrypt elsewhere.
  sealed bytea not null check (length(sealed) > 28),
  -- The key of the keyring that encrypts it.
  kid text not null,
  signs_from timestamptz not null,
  ends_at timestamptz,
  primary key (endpoint_id, version)
);

create index webhook_secrets_kid on webhook_secrets (kid);

create table webhook_deliveries (
  id bigint generated always as identity primary key,
  endpoint_id uuid not null,
  -- Null for a test event. Its body is stored here, and it is in no feed.
  event_seq bigint references webhook_events on delete cascade,
  event_id text not null,
  event_type text not null,
  body text,
  trigger text not null check (trigger in ('event', 'manual', 'recovery', 'test')),
  -- Empty for `event`. Otherwise the id of the request, so that a repeated request adds no
  -- delivery.
  trigger_ref text not null default '',
  status text not null default 'pending'
    check (status in ('pending', 'sending', 'succeeded', 'exhausted', 'cancelled')),
  -- Finished attempts and the current one.
  attempts smallint not null default 0,
  interruptions smallint not null default 0,
  due_at timestamptz not null,
  -- The current attempt. An acknowledgement must name its id. No other process sends before
  -- lease_until.
  lease_id uuid,
  lease_until timestamptz,
  created_at timestamptz not null,
  finished_at timestamptz,
  unique (event_seq, endpoint_id, trigger_ref),
  check ((event_seq is null) = (body is not null)),
  check ((status = 'sending') = (lease_id is not null)),
  check ((status = 'sending') = (lease_until is not null)),
  check ((status in ('pending', 'sending')) = (finished_at is null))
) with (
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

create index webhook_deliveries_pending on webhook_deliveries (endpoint_id, due_at, id)
  where status = 'pending';
create index webhook_deliveries_sending on webhook_deliveries (endpoint_id)
  where status = 'sending';
create index webhook_deliveries_leases on webhook_deliveries (lease_until)
  where status = 'sending';
create index webhook_deliveries_finished on webhook_deliveries (finished_at, id)
  where finished_at is not null;

create table webhook_attempts (
  -- Sent with the attempt.
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
  -- At most 2 KiB, for the owner of the endpoint.
  response_body text,
  next_attempt_at timestamptz
);

create index webhook_attempts_endpoint on webhook_attempts
  (endpoint_id, started_at desc, id desc);
create index webhook_attempts_delivery on webhook_attempts (delivery_id);
