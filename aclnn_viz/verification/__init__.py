"""Does the kit hold: kernels against truth, truth against the forward pass, the emulator against the contract."""
