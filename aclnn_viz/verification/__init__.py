"""Checks of the kit itself: kernels against truth, truth against the forward pass, the emulator against the contract."""
