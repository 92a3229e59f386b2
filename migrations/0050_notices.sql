-- Notices by mail, to owners of an account and to the operator.
alter table memberships add column notices_off text[] not null default '{}';
alter table mails add column notice jsonb;
alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check check (kind in ('sign_in', 'invitation', 'notice'));
alter table mails add constraint mails_notice check ((kind = 'notice') = (notice is not null));

-- When a notice was last queued. The recipient is an account, or `operator`.
create table notices_sent (
  recipient text not null,
  notice text not null,
  sent_at timestamptz not null,
  primary key (recipient, notice)
);
