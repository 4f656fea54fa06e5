"""The accuracy evaluator: one model on one set of inputs, through many inference schemas, ranked."""
