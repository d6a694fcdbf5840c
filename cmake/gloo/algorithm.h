// Stands in for gloo's header: torch's ProcessGroupGloo.hpp includes it, and the wheel has gloo's code without its headers. Nothing here
// is called or laid out by us; only pointers to these classes cross. Whole headers of the same gloo may take the place of this folder.
#pragma once
