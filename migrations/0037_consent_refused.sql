-- Who withdraws what was never granted refuses it: that is kept, too, so that no import grants it later.

alter table consent_changes drop constraint consent_changes_check1;
alter table consent_changes add constraint consent_changes_check1
  check (granted or previous_granted is distinct from false);
