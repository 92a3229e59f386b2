-- API keys are stored as SHA-256 of the key, without a pepper (decision D14). The keys so far are
-- stored as HMACs under peppers, so no process can check them any more: they end here.
-- contract: nodes that know 0025 or later

alter table api_keys
  drop column pepper,
  -- Null: this migration ended the key.
  alter column digest drop not null,
  add check (digest is not null or revoked_at is not null);

update api_keys set digest = null, revoked_at = now()
where revoked_at is null and (expires_at is null or expires_at > now());

drop table api_key_moves;
drop table api_key_peppers;
