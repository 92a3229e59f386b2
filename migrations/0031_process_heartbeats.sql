-- Each process of the service writes one row, about every ten seconds, and at most once a second if
-- a readiness probe asks for it. A row that is not renewed belongs to a process that died.
create table process_heartbeats (
  process_id uuid primary key,
  node text not null,
  pid integer not null,
  release text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  -- Set if the process ended as it was told to.
  ended_at timestamptz,
  serves boolean not null,
  -- The process holds the file of the active signing key.
  signs boolean not null,
  -- The process holds a keyring for the secrets of webhooks.
  opens_secrets boolean not null,
  -- By name: everyMs, ranAt, succeededAt, error. Null if the process runs no background jobs.
  jobs jsonb
)
-- The row is rewritten in place: no index has a column that changes.
with (fillfactor = 50);

-- The work that waits, as numbers alone: a role that may not read the tables behind it may read it.
create view backlog as
select
  (select min(since) from score_recomputations) as score_due_since,
  (select min(created_at) from webhook_events where position is null and withheld_at is null)
    as event_undispatched_since,
  (select min(published_at) from status_lists where dies_at is null or dies_at > now())
    as list_published_at,
  (select count(*)::int from mails where due_at is not null) as mails_waiting,
  (select count(*)::int from disputes
    where state in ('open', 'under_review') and due_at <= now()) as disputes_overdue,
  (select count(*)::int from api_keys
    where revoked_at is null and expires_at > now() and expires_at <= now() + interval '7 days')
    as api_keys_ending,
  (select count(*)::int from credit_accounts where suspended_at is not null) as books_differing;

create index credit_accounts_suspended on credit_accounts (account_id)
  where suspended_at is not null;
create index api_keys_ending on api_keys (expires_at)
  where revoked_at is null and expires_at is not null;
