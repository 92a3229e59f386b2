-- A creation that is repeated under its Idempotency-Key gives the endpoint it made (decision D40). The key stands on that endpoint's row:
-- it is there exactly if the endpoint is. It is the user's, so that a new API key changes nothing for a retry.

alter table webhook_endpoints
  -- Null for an endpoint made without one, by an operator.
  add column idempotency_key text check (length(idempotency_key) between 16 and 128),
  -- SHA-256 of the canonical JSON of the request, normalised.
  add column fingerprint bytea check (length(fingerprint) = 32),
  add check ((idempotency_key is null) = (fingerprint is null)),
  add unique (user_id, idempotency_key);
