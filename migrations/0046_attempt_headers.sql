-- The headers of an attempt that cannot be made again: its signatures, and what the receiver sent.
alter table webhook_attempts
  add sent_at timestamptz,
  add signatures jsonb,
  add response_headers jsonb;

-- Lists the events of an endpoint, newest first. A test event has no row in webhook_events.
create index webhook_deliveries_endpoint on webhook_deliveries (endpoint_id, id);
create index webhook_deliveries_test on webhook_deliveries (event_id) where event_seq is null;

-- One check of the DNS a minute.
alter table webhook_endpoints add dns_checked_at timestamptz;
