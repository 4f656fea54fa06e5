"""What HTP asks of a graph beyond QNN's own rules: run on a copy, right before it is compiled."""
