-- How many deliveries a second an endpoint takes at most, where its operator was asked for that.
alter table webhook_endpoints
  -- Null: as many as its concurrency allows.
  add column rate_per_second smallint check (rate_per_second between 1 and 1000),
  -- From when on there is room in the rate for one more. In the past: for more than one, up to a tenth of a second's.
  add column rate_from timestamptz;
