-- Why a call was refused: numbers and names from contracts, limits and books. Null for a success.
alter table request_log add cause jsonb;

-- The calls of a minute, so that a chart of a week reads no call. Without a reference, so that a batch
-- does not fail for an account that is erased meanwhile.
create table request_counts (
  account_id uuid not null,
  minute timestamptz not null,
  class smallint not null check (class in (2, 4, 5)),
  calls integer not null,
  primary key (account_id, minute, class)
);
create index request_counts_minute on request_counts (minute);
