"""The JSON description of a model beside its weights."""
