"""How the tests run: the same examples every time, and none of them against a clock."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
