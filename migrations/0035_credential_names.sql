-- Whose a credential is, by the digest of the username: of names that a person had before nothing else is kept. In a database in UTF-8 the
-- conversion never depends on anything, which the declaration says and PostgreSQL's own does not.

create function subject_name_sha256(subject text) returns bytea language sql immutable strict parallel safe as $$
  select sha256(convert_to(split_part(subject, '/u/', 2), 'UTF8'))
$$;
create index score_credentials_name on score_credentials (subject_name_sha256(subject));
