-- A recall marks the scores of its engine page by page: those up to this id are marked. So a batch
-- of the operation goes on after the last one, and so does a process after another that ended.
alter table engine_recalls add column marked_to bytea not null default '';

drop trigger engine_recalls_append_only on engine_recalls;
-- Only marked_to and marked_at may change, until marked_at is set.
create trigger engine_recalls_append_only before update on engine_recalls
  for each row
  when (old.marked_at is not null
    or to_jsonb(new) - 'marked_at' - 'marked_to' <> to_jsonb(old) - 'marked_at' - 'marked_to')
  execute function refuse_change('a recalled engine stays recalled');
