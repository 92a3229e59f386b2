-- The outbox (decision D37): what happened, written in the transaction in which it happened and by one INSERT. Nothing else is touched
-- there: whom an event goes to is found out later, from what was committed.

create table webhook_events (
  -- Drawn when the event is written. A transaction that began after another had ended draws higher numbers, so has one that waited for
  -- another's row lock: this is the causal order. It is no order to read by, for a lower number can be committed later.
  seq bigint generated always as identity primary key,
  id text not null unique,
  type text not null,
  -- Whom it is about: for consent and erasure, never sent by itself.
  worker_id uuid not null,
  created_at timestamptz not null,
  -- The envelope as it is signed and sent, at every attempt and to every endpoint. Never jsonb: that keeps no bytes.
  body text not null,
  -- Since when it may no longer leave: the worker withdrew consent.
  withheld_at timestamptz,
  -- The order to read by: given after the commit, by one process at a time, to what lies there, lowest seq first. Nothing appears below a
  -- position that was seen, and a cause stands before its effect. Numbers are no transaction ids, so they survive a dump and a restore.
  position bigint unique
);

create sequence webhook_event_positions as bigint;

-- What waits for its position.
create index webhook_events_waiting on webhook_events (seq) where position is null and withheld_at is null;
create index webhook_events_worker on webhook_events (worker_id, seq);
