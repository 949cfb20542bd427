"""Files: results that are written completely or not at all, and cases with a checksum of each file."""
