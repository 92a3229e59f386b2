-- Finds workers by the beginning of their name.
create index profiles_by_name on profiles (lower(display_name) collate "C");
