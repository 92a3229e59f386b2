-- The schema of a request says which event types an endpoint may have. The table asks for one at
-- least, so that a release with another event type needs no migration.
alter table webhook_endpoints drop constraint webhook_endpoints_event_types_check;
alter table webhook_endpoints add constraint webhook_endpoints_event_types_check
  check (cardinality(event_types) >= 1);
