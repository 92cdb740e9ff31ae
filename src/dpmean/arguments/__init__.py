"""The door: every argument is read and checked here, once; what is refused is told its value and the cure."""
