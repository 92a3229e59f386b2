-- What the owner of a locked account says with the request for a review.

alter table agent_unlock_reviews add column note text check (char_length(note) <= 1000);
