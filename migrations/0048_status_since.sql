-- Since when the history of the status page is written: days before have no record.
alter table status_looks add column first_at timestamptz not null default now();
