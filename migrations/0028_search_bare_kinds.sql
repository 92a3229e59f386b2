-- Matches that only the folding of accents makes: a lower rank of the same kind (decision D35). A
-- value of an enum can be used only after the commit of the migration that adds it.
alter type match_kind add value 'bare_skills';
alter type match_kind add value 'bare_skill';
alter type match_kind add value 'bare_name';
alter type match_kind add value 'bare_title';
