-- What a credential of a source is checked with: the issuer it must name, and the keys of that issuer, as the operator was given them
-- (Multikey, `z6Mk…`). Nothing is ever fetched.

alter table sources
  add column issuer text check (length(issuer) <= 2048),
  add column public_keys text[] not null default '{}',
  add check ((issuer is null) = (cardinality(public_keys) = 0));

alter table source_changes
  add column issuer text,
  add column public_keys text[] not null default '{}';
