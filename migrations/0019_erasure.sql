-- The erasure of a person. The row of workers stays, so that the books which name its id still add up; nothing in it tells whose it was.

alter table workers
  add column erased_at timestamptz,
  add check (erased_at is null or (external_id is null and terms_version is null and onboarded_at is null));

-- The history of consent and identity stays, but for who entered it: that is free text, and may be the person's name.
create function refuse_change_but_forget_actor() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new.actor = 'erased' and to_jsonb(new) - 'actor' = to_jsonb(old) - 'actor' then
      return new;
    end if;
  end if;
  raise exception 'rows of % are never changed or removed', tg_table_name
    using errcode = 'integrity_constraint_violation';
end
$$;

drop trigger consent_changes_stay on consent_changes;
create trigger consent_changes_stay before update or delete on consent_changes
  for each row execute function refuse_change_but_forget_actor();
drop trigger identity_changes_stay on identity_changes;
create trigger identity_changes_stay before update or delete on identity_changes
  for each row execute function refuse_change_but_forget_actor();
