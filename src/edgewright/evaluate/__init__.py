"""How good a model's answers are: metrics, evaluation on samples, what is lost against the float model."""
