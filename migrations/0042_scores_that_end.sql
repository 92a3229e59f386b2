-- The day on which a score is withdrawn without new evidence, if it comes before the next monthly
-- evaluation.
alter table score_evaluations add column ends_on date;
create index score_evaluations_ends_on on score_evaluations (ends_on) where ends_on is not null;
