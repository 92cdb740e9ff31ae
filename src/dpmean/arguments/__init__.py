"""Arguments: each is read and checked here, once; a refusal names the value and the cure."""
