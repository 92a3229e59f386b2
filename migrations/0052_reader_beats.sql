-- Reads on replicas. Each process that reads replicas writes its row about four times a second; a
-- replica that shows the row's number shows everything that was committed before that number was
-- sent. src/platform/db/lease.ts has the rules.
create table reader_beats (
  reader uuid primary key,
  beat bigint not null,
  at timestamptz not null default now()
);

-- A statement that makes a public read show less sends the notice HIDES to its connection. The
-- process that commits it then waits until no replica may answer with the older state
-- (src/platform/db/db.ts).
create function notice_hidden() returns trigger language plpgsql as $$
begin
  if exists (select from changed) then
    raise notice 'a public read shows less' using errcode = 'HIDES';
  end if;
  return null;
end $$;

-- Rows of workers that no public read shows hide nothing.
create function notice_hidden_profile() returns trigger language plpgsql as $$
begin
  if exists (select from changed join readable_profiles using (worker_id)) then
    raise notice 'a public profile shows less' using errcode = 'HIDES';
  end if;
  return null;
end $$;

create trigger hides_deleted after delete on readable_profiles
  referencing old table as changed for each statement execute function notice_hidden();
create trigger hides_updated after update on readable_profiles
  referencing new table as changed for each statement execute function notice_hidden();
create trigger hides_deleted after delete on readable_scores
  referencing old table as changed for each statement execute function notice_hidden();
create trigger hides_updated after update on readable_scores
  referencing new table as changed for each statement execute function notice_hidden();
create trigger hides_deleted after delete on search_entries
  referencing old table as changed for each statement execute function notice_hidden();
create trigger hides_updated after update on search_entries
  referencing new table as changed for each statement execute function notice_hidden();
create trigger hides_deleted after delete on score_credentials
  referencing old table as changed for each statement execute function notice_hidden();
create trigger hides_updated after update on score_credentials
  referencing new table as changed for each statement execute function notice_hidden();
create trigger hides_updated after update on profiles
  referencing new table as changed for each statement execute function notice_hidden_profile();
create trigger hides_deleted after delete on profile_skills
  referencing old table as changed for each statement execute function notice_hidden_profile();
create trigger hides_updated after update on profile_skills
  referencing new table as changed for each statement execute function notice_hidden_profile();

-- A key that is activated or retired hides nothing.
create function notice_revoked_key() returns trigger language plpgsql as $$
begin
  raise notice 'a signing key is revoked' using errcode = 'HIDES';
  return null;
end $$;
create trigger hides_updated after update on signing_keys for each row
  when (old.revoked_at is distinct from new.revoked_at
    or old.credentials_revoked_at is distinct from new.credentials_revoked_at)
  execute function notice_revoked_key();
