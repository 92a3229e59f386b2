-- When the user proved who they are. Null: when the session began. A sign-in by a provider may rest
-- on an earlier proof there, which is no fresh sign-in.
alter table sessions add column authenticated_at timestamptz;
