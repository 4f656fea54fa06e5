"""What is in a tree that was made like QNN_SDK_ROOT."""

from edgewright.core.page import Block
from edgewright.sdk.sdk_root import SdkRoot


def make_page(made: SdkRoot) -> list[Block]:
    """The report of `edgewright sdk-root`."""
    genuine = f"{len(made.linked)} of the installed wheel" if made.linked else "none of the genuine ones"
    return [
        f"wrote {made.folder}: {len(made.tools)} tools, {len(made.headers)} headers",
        f"libraries: {genuine}; {len(made.named)} names that the tools understand",
        f"next: source {made.folder}/bin/envsetup.sh",
    ]
