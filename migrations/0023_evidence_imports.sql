-- Running imports of evidence. A worker is scored once every import that names it has ended. The
-- end of an import deletes its row; a row that no batch has renewed for some seconds counts as
-- ended too, because its process may have died.
create table evidence_imports (
  import_id uuid primary key,
  -- When the last batch was read.
  seen_at timestamptz not null
);

-- The imports that a mark waits for. Empty if it waits for none: every cause but an import.
alter table score_recomputations add column imports uuid[] not null default '{}';
