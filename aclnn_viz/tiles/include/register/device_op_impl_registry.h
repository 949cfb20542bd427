#error "tiling on the device (device_op_impl_registry) is not offered; let the host tile"
