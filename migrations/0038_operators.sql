-- Users with an operator role, who sign in to the console (decision D63). A membership of an
-- account never gives such a role.
create table operators (
  user_id uuid primary key references users (id) on delete cascade,
  role text not null check (role in ('viewer', 'support', 'admin')),
  granted_at timestamptz not null,
  granted_by text not null
);
