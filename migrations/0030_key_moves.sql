-- Keys move to a newer pepper when they are used: only then is there anything to digest. A server that answers requests must not touch a key; it
-- leaves the new digest here, with a proof that it holds the new pepper, and a worker takes it over.

create table api_key_moves (
  key_id uuid primary key references api_keys,
  pepper text not null check (char_length(pepper) between 1 and 64),
  digest bytea not null check (length(digest) = 32),
  -- HMAC-SHA-256 under that pepper over the key's id and the digest: whoever can write here and lacks the pepper moves nothing.
  proof bytea not null check (length(proof) = 32)
);

-- Whether keys still rest on a pepper is asked whenever a key is not found.
create index api_keys_pepper on api_keys (pepper) where revoked_at is null;
