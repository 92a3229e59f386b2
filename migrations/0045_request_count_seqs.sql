-- The first and the last call of each minute, so that a time of the request log is found without the
-- calls after it. The defaults bound nothing: they stand for minutes that were counted before.
alter table request_counts
  add first_seq bigint not null default 0,
  add last_seq bigint not null default 9223372036854775807;
