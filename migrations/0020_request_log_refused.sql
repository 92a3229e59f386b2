-- A page of failed calls reads these alone: among 100,000 calls a failure is rare.
create index request_log_refused on request_log (account_id, seq) where status >= 400;
