-- What operators did (decision D36). Each row holds the hash of the one before it: whoever changes, removes or slips in a row breaks the
-- chain from there on, and `assay audit verify` says where. Written by the room audit alone, in the transaction of the action itself.

create table audit_log (
  seq bigint primary key check (seq > 0),
  -- Text wherever a hash is made over it: what is kept is what was hashed, to the byte.
  at text collate "C" not null check (at ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$'),
  -- USER@HOST of the operating system, or `service`.
  actor text not null check (length(actor) between 1 and 400),
  action text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  -- Canonical JSON (RFC 8785): a list of ids, and an object of ids and counts.
  subjects text not null,
  details text not null,
  prev_hash bytea not null check (length(prev_hash) = 32),
  -- SHA-256 of the canonical JSON of the columns above, prev_hash among them as 64 hex characters.
  hash bytea not null check (length(hash) = 32),
  prev_seq bigint generated always as (nullif(seq - 1, 0)) stored,
  -- Every row but the first points at the row before it, so there is no gap; a number is taken once, so there is no fork.
  unique (seq, hash),
  foreign key (prev_seq, prev_hash) references audit_log (seq, hash),
  check (seq > 1 or prev_hash = decode(repeat('00', 32), 'hex'))
);

create function keep_audit_log() returns trigger language plpgsql as $$
begin
  raise exception 'the audit log is only ever added to' using errcode = 'integrity_constraint_violation';
end
$$;

create trigger audit_log_only_grows before update or delete or truncate on audit_log
  for each statement execute function keep_audit_log();
