"""Options that give dimensions numbers, which tools spell in their own ways."""

from edgewright.config.declare import opt
from edgewright.config.values import make_number_parser, parse_dims, parse_numbers

INPUT_SHAPES = opt(
    fills="input_shapes",
    keyed=True,
    type=(str, parse_dims),
    metavar=("NAME", "DIMS"),
    example="-d data 1,3,224,224",
    help="the shape of an input, dimensions separated by commas; once for each input",
)
BATCH_SIZE = opt(
    type=make_number_parser(1),
    metavar="SIZE",
    example="--batch 6",
    help="replace the first dimension of every input; where an input has no batch use -d instead",
)
SYMBOL_SIZES = opt(
    fills="symbols",
    keyed=True,
    type=(str, make_number_parser(1)),
    metavar=("NAME", "SIZE"),
    example="--define_symbol height 224",
    help="the size of a dimension that the model gives by a name; once for each name",
)
INPUT_VALUES = opt(
    keyed=True,
    type=(str, parse_numbers),
    metavar=("NAME", "VALUE"),
    example="--input_value rate 16000",
    help="make an input a constant, such as one whose value shapes the graph; several numbers are "
    "separated by commas; once for each input",
)
