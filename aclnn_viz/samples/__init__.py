"""The vendor's sample programs over the C API methods: `main(acl) -> int`, for any implementation of the API."""
