"""The stages of an evaluation as plugins: data sets, preprocessing, postprocessing, metrics."""
