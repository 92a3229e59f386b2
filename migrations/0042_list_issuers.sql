-- The issuer of a status list, read from the list itself, so that processes of the release before this one write it as well. After a
-- move to another address a list keeps its id and issuer: the credentials in it name them.
alter table status_lists
  add column issuer text not null generated always as (substring(payload from '"issuer":"([^"]*)"')) stored;
