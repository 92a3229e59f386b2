-- Only marks that are due count as a backlog, and the scores without a credential count too.

-- When an import ends unless it commits another batch.
create view import_ends as
select import_id, seen_at + interval '10 seconds' as ends_at from evidence_imports;

-- A mark waits while an import that set it runs, but at most ten minutes, because an import may
-- never end.
create function is_recomputation_due(
  since timestamptz, imports uuid[], running uuid[], at_time timestamptz
) returns boolean language sql stable as $$
  select since <= at_time - interval '10 minutes' or not imports && running
$$;

create or replace view backlog as
select
  (select min(since) from score_recomputations where is_recomputation_due(since, imports,
    array(select import_id from import_ends where ends_at > now()), now())) as score_due_since,
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
  (select count(*)::int from credit_accounts where suspended_at is not null) as books_differing,
  (select count(*)::int from due_reissues where is_active and verified_until > now())
    as scores_without_credential;
