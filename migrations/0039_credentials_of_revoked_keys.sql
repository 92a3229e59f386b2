-- The time at which all credentials of a revoked key were revoked. One mark on the key covers any number of rows, and rows that an
-- issuing transaction commits after it.
alter table signing_keys
  add column credentials_revoked_at timestamptz check (credentials_revoked_at is null or state = 'revoked');

create trigger signing_keys_credentials_stay_revoked before update on signing_keys
  for each row when (old.credentials_revoked_at is not null
    and new.credentials_revoked_at is distinct from old.credentials_revoked_at)
  execute function keep_revoked();

-- The bits of such a list are read from the index alone: a list has up to 98,304 credentials of 1.5 KiB each.
alter table score_credentials
  add constraint score_credentials_place unique (list_id, list_index) include (kid),
  drop constraint score_credentials_list_id_list_index_key;
