"""qnn-quantization-checker: every quantization variant of a model against float."""
