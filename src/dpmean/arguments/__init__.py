"""Arguments: each is read and checked here, once. Errors name the value and the cure."""
