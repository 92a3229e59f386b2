-- `class` takes the whole status, such as 404, so that the calls of a day are counted by status
-- without reading one of them. Earlier releases write its first digit: 2, 4 or 5.
alter table request_counts
  drop constraint request_counts_class_check,
  add constraint request_counts_class_check check (class between 2 and 599) not valid;
