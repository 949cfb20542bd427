"""What lies on disk: results that are written whole or not at all, and cases in one form, each byte vouched for."""
