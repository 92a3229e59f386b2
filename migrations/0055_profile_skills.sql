-- The skills of a profile are part of its row, as the JSON that the API shows. A row for each skill
-- cost two index entries, a check of its foreign key and a tenth of the time of an import.
alter table profiles add column skills json not null default '[]';

-- No worker is indexed again, because no profile shows anything else.
alter table profiles disable trigger user;
update profiles p set skills = listed.skills
from (
  select worker_id, json_agg(json_build_object('name', name, 'verified', verified, 'level', level)
    order by place) as skills
  from profile_skills group by worker_id
) listed
where listed.worker_id = p.worker_id;
alter table profiles enable trigger user;

-- `exists` is never unknown, so a skill without a name or with a number for it is refused too.
alter table profiles add check (json_typeof(skills) = 'array' and json_array_length(skills) <= 100
  and not skills::jsonb @? '$[*] ? (!exists(@ ? (
    @.name.type() == "string" && @.name like_regex "^.{1,80}$" flag "s"
    && @.verified.type() == "boolean" && (@.level == null || @.level == "novice"
      || @.level == "intermediate" || @.level == "advanced" || @.level == "expert"))))');

create or replace view public_profiles as
select r.worker_id, r.username, p.display_name, p.title, p.bio, p.avatar_url, p.member_since,
  p.skills
from readable_profiles r
cross join lateral (select * from profiles where worker_id = r.worker_id offset 0) p;

-- Nodes of the release before read and write the view as they did the table: they delete the skills
-- of a profile, and insert them in their order.
drop table profile_skills;
create view profile_skills as
select p.worker_id, s.skill ->> 'name' as name, s.place::smallint as place,
  (s.skill ->> 'verified')::boolean as verified, s.skill ->> 'level' as level
from profiles p, json_array_elements(p.skills) with ordinality as s(skill, place);

create function write_profile_skill() returns trigger language plpgsql as $$
begin
  update profiles set skills = (
    select coalesce(json_agg(kept.skill order by kept.place), '[]') from (
      select held.skill, held.place
      from json_array_elements(skills) with ordinality as held(skill, place)
      where held.skill ->> 'name' is distinct from old.name
      union all
      select json_build_object('name', new.name, 'verified', new.verified, 'level', new.level),
        new.place
      where tg_op = 'INSERT'
    ) kept)
  where worker_id = coalesce(new.worker_id, old.worker_id);
  if tg_op = 'DELETE' then return old; end if;
  return new;
end
$$;
create trigger profile_skill_written instead of insert or delete on profile_skills
  for each row execute function write_profile_skill();
