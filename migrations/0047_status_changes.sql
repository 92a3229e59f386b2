-- The history that the status page shows: when a part did not work, or only in part. A part without
-- a row works. Written by the jobs process.
create table status_changes (
  part text not null,
  state text not null check (state in ('limited', 'fails')),
  began_at timestamptz not null,
  ended_at timestamptz,
  primary key (part, began_at)
);
create index status_changes_ended on status_changes (ended_at);

-- The last look of a jobs process. A long gap after it is an outage.
create table status_looks (
  only_row boolean primary key default true check (only_row),
  at timestamptz not null
);
