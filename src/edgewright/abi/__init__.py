"""The QNN C interface as data, and the headers that a generated model compiles against."""
