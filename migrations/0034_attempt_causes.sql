-- The HTTP request that causes an event or a delivery names itself in the setting assay.request_id of
-- its transaction. Null if the cause is no request.
alter table webhook_events
  add request_id text default nullif(current_setting('assay.request_id', true), '');
alter table webhook_deliveries
  add request_id text default nullif(current_setting('assay.request_id', true), '');

-- Why no connection was made, in words, such as `certificate has expired`.
alter table webhook_attempts add error_cause text;
