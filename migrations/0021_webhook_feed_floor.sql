-- Up to which position of the feed events have been deleted by age: a reader that stands before it has missed some, and is told.
create table webhook_feed_floor (
  only_row boolean primary key default true check (only_row),
  position bigint not null
);

insert into webhook_feed_floor (position) values (0);
