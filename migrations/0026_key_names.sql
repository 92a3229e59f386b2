-- The names of API keys have one limit, 80 characters. The command line took 120 before.
update api_keys set name = left(name, 80) where char_length(name) > 80;
