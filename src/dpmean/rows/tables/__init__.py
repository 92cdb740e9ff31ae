"""Tables: keys, persons, groups and data frames."""
