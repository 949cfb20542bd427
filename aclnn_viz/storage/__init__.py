"""Files: results that are written whole or not at all, and cases with a checksum of each file."""
