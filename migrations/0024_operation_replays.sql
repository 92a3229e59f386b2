-- Answers of operator changes, by the actor's Idempotency-Key. Deleted after a day. The answer is
-- null if it holds a secret.
create table operation_replays (
  actor text not null,
  idempotency_key text not null,
  fingerprint bytea not null,
  answer text,
  created_at timestamptz not null,
  primary key (actor, idempotency_key)
);
create index operation_replays_created on operation_replays (created_at);
