"""The jobs of the SDK's tools, from files to files, in the words of its guide."""
