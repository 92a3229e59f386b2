-- The entries of the audit log that belong to an account, for its members. Only the module audit
-- writes this table.

-- Written with the entry. The chain of hashes covers the entry, and not this row.
create table account_audit (
  account_id uuid not null,
  -- Of the entry in audit_log.
  seq bigint not null,
  primary key (account_id, seq)
);

create trigger account_audit_append_only before delete or update or truncate on account_audit
  for each statement execute function refuse_change('the audit log is append-only');

-- The entries that exist already. An entry names its account, an API key or an endpoint.
insert into account_audit (account_id, seq)
select distinct owned.account_id, entry.seq
from audit_log entry
cross join lateral (
  select value #>> '{}' as id from jsonb_array_elements(entry.subjects::jsonb)
  union all
  select entry.details::jsonb ->> 'account'
) named
join (
  select id::text as id, id as account_id from accounts
  union all
  select id::text, account_id from api_keys
  union all
  select id::text, user_id from webhook_endpoints
) owned on owned.id = named.id
where entry.action ~ '^(accounts|api_keys|credits|webhooks|agent_reporting|users)\.'
  and entry.action not in ('api_keys.moved', 'webhooks.reencrypted', 'credits.archived');
