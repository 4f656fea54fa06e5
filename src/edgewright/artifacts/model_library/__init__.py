"""Model libraries: model.cpp compiled with its weights, and read back by composing its graphs."""
