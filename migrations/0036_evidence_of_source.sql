-- The evidence of a source that is not revoked, for a revocation in batches.
create index evidence_unrevoked_of_source on evidence (source_id) where state <> 'revoked';
