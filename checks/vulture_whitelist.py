# Names that something outside the source uses, one a line, each with the reason.
# Dataclass fields, enum members and console scripts need no line: checks/dead_code.py adds them.
pytest_configure  # pytest calls it
