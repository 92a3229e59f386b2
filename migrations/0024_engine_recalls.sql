-- Engines that were released and found to be wrong. What one of them scored was wrong too (decision D28): it is computed again by the
-- engine of the day, as a correction. Written by the room scores alone; there is no way back.
create table engine_recalls (
  engine_sha256 bytea primary key check (length(engine_sha256) = 32),
  engine_version text not null,
  reason text not null check (reason in ('wrong_result', 'wrong_algorithm', 'unfair', 'compromised')),
  actor text not null check (char_length(actor) between 1 and 200),
  recalled_at timestamptz not null,
  -- When everybody whose score it made had been marked to be scored again. Null: somebody has yet to begin, or to go on.
  marked_at timestamptz
);

create function keep_recall() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if old.marked_at is null and to_jsonb(new) - 'marked_at' = to_jsonb(old) - 'marked_at' then
      return new;
    end if;
  end if;
  raise exception 'an engine that was recalled stays so' using errcode = 'integrity_constraint_violation';
end
$$;

create trigger engine_recalls_stay before update or delete on engine_recalls
  for each row execute function keep_recall();

alter table score_recomputations drop constraint score_recomputations_reason_check;
alter table score_recomputations add constraint score_recomputations_reason_check check (reason in
  ('evidence_added', 'evidence_revoked', 'evidence_excluded', 'evidence_restored', 'evidence_expired', 'source_changed',
   'sharing_allowed', 'rules_changed', 'evaluation_due', 'operator', 'engine_recalled'));
