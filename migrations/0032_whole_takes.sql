-- Limits of several buckets are taken by one statement where all is granted; where not, it undoes itself, and a transaction decides.
create function whole_or_none(granted bigint, wanted bigint) returns boolean
language plpgsql as $$ begin
  if granted < wanted then
    raise exception 'not all that was wanted is granted' using errcode = 'RL001';
  end if;
  return true;
end $$;
