// Memory for large tensors that stays with the process from step to step.
#pragma once

namespace debias {

// glibc hands blocks of more than 32 MB, and free memory at the end of the heap, back to the system, which clears every page of them
// again at the next request: a tenth to a sixth of a training step's time. From here on the process keeps them, and requests
// large pages where the heap will grow. This is for the process that trains, evaluates or embeds: its memory does not shrink before it
// ends. The library itself leaves malloc as its host has it. Nothing is done where GLIBC_TUNABLES says something of glibc.malloc.
void keep_large_blocks();

}  // namespace debias
