-- What the public reads may know of a person: the profile, what the gate asks (decision D33), and the score that stands. A server that
-- only answers requests reads this and the search index, and no table behind them.
create view public_candidates as
select p.worker_id, p.username, p.display_name, p.title, p.bio, p.avatar_url, p.member_since,
  (select coalesce(json_agg(json_build_object('name', s.name, 'verified', s.verified, 'level', s.level)
      order by s.place), '[]')
    from profile_skills s where s.worker_id = p.worker_id) as skills,
  w.onboarded_at is not null as onboarded,
  array(select c.permission from consents c where c.worker_id = p.worker_id and c.granted) as granted,
  i.state as identity_state, i.verified_until,
  n.snapshot_id, n.score, n.confidence_low, n.confidence_high, n.band, n.evidence_count,
  n.engine_version, n.issued_at, n.vc_sha256, n.status_token, v.list_id, v.payload, v.proof
from profiles p
join workers w on w.id = p.worker_id
left join identities i on i.worker_id = p.worker_id
left join score_snapshots n on n.worker_id = p.worker_id and n.state = 'active'
left join score_credentials v on v.vc_sha256 = n.vc_sha256;
