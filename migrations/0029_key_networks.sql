-- Where a key may be used from: networks such as 192.0.2.0/24, or null for anywhere.

alter table api_keys
  add column allowed_from text[] check (
    cardinality(allowed_from) >= 1 and cardinality(allowed_from) <= 20
    and array_position(allowed_from, null) is null
    and array_to_string(allowed_from, ' ') ~ '^[0-9a-f.:]+/[0-9]+( [0-9a-f.:]+/[0-9]+)*$');
