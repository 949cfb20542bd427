"""The vendor's sample programs, by operator."""
