-- Evidence of a suspended source has the assurance 0 until the source is resumed.
alter table sources add column suspended_at timestamptz;
alter table source_changes add column suspended boolean not null default false;
