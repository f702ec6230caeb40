import pytest

pytest.register_assert_rewrite("tests.exercises.standard")  # its tables list what went wrong
