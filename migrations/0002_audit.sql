-- The audit log of operator actions (decision D36). Only the module audit writes it, in the
-- transaction of the action itself.

-- Each row holds the hash of the row before it. If a row is changed, removed or inserted, the chain
-- breaks there, and `assay audit verify` reports the place.
create table audit_log (
  seq bigint primary key check (seq > 0),
  -- Hashed columns are text, so that the stored bytes are the hashed bytes.
  at text collate "C" not null check (at ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$'),
  -- USER@HOST of the operating system, or `service`.
  actor text not null check (length(actor) between 1 and 400),
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  -- Canonical JSON (RFC 8785): a list of ids, and an object of ids and counts.
  subjects text not null,
  details text not null,
  prev_hash bytea not null check (length(prev_hash) = 32),
  -- SHA-256 of the canonical JSON of the columns above, with prev_hash as 64 hex characters.
  hash bytea not null check (length(hash) = 32),
  prev_seq bigint generated always as (nullif(seq - 1, 0)) stored,
  -- Every row but the first refers to the row before it, so there is no gap. A number is unique, so
  -- there is no fork.
  unique (seq, hash),
  foreign key (prev_seq, prev_hash) references audit_log (seq, hash),
  check (seq > 1 or prev_hash = decode(repeat('00', 32), 'hex'))
);

create trigger audit_log_append_only before update or delete or truncate on audit_log
  for each statement execute function refuse_change('the audit log is append-only');
